#include "client/kvctl/output/report.h"

#include <algorithm>
#include <ctime>
#include <type_traits>
#include <utility>

#include "client/kvctl/formats/byte_codec.h"
#include "client/kvctl/output/table_writer.h"
#include "common/base/text.h"

namespace dunlin::kvctl {
namespace {

// "round_trip_ns" becomes "round trip": tables choose the unit themselves.
std::string Title(std::string_view name) {
  for (const std::string_view suffix : {"_ms", "_ns", "_unix"}) {
    if (name.ends_with(suffix)) name.remove_suffix(suffix.size());
  }
  std::string title(name);
  std::replace(title.begin(), title.end(), '_', ' ');
  return title;
}

std::string UpperTitle(std::string_view name) {
  std::string title = Title(name);
  std::transform(title.begin(), title.end(), title.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  return title;
}

template <typename T>
std::string Grouped(T value) {
  if constexpr (std::is_same_v<T, double>) {
    return FormatFixed(value, 2);
  } else if constexpr (std::is_signed_v<T>) {
    // The magnitude of the least number has no positive int64_t.
    if (value < 0) return "-" + FormatCount(-static_cast<uint64_t>(value));
    return FormatCount(static_cast<uint64_t>(value));
  } else {
    return FormatCount(value);
  }
}

std::string Moment(int64_t unix_ms) {
  const time_t seconds = unix_ms / 1000;
  std::tm parts{};
  if (unix_ms < 0 || gmtime_r(&seconds, &parts) == nullptr) return std::to_string(unix_ms);
  char day[40];
  const size_t bytes = std::strftime(day, sizeof day, "%Y-%m-%d %H:%M:%S", &parts);
  const std::string millis = std::to_string(unix_ms % 1000 + 1000);
  return std::string(day, bytes) + "." + millis.substr(1) + " UTC";
}

template <typename T>
std::string Humane(T value, Unit unit) {
  const double number = static_cast<double>(value);
  switch (unit) {
    case Unit::kNone:
      if constexpr (std::is_integral_v<T>) return std::to_string(value);
      return FormatFixed(number, 2);
    case Unit::kCount:
      return Grouped(value);
    case Unit::kBytes:
      return FormatRoundedSize(static_cast<uint64_t>(std::max<T>(value, 0)));
    case Unit::kMillis:
      return number == 0 ? "0 ms" : FormatRoundedDuration(number * 1e6);
    case Unit::kNanos:
      return FormatRoundedDuration(number);
    case Unit::kPerCent:
      return FormatPercent(number);
    case Unit::kRate:
      return FormatRate(number);
    case Unit::kUnixMillis:
      return Moment(static_cast<int64_t>(value));
  }
  return {};
}

}  // namespace

void Report::AddMember(std::string_view name, Value value) {
  members_.push_back({std::string(name), std::move(value)});
}

void Report::AddText(std::string_view name, std::string_view text) {
  AddMember(name, std::string(text));
}

void Report::AddBytes(std::string_view name, std::string_view bytes, Encoding encoding) {
  AddMember(name, Bytes{std::string(bytes), encoding});
}

void Report::AddExact(std::string_view name, uint64_t value) { AddMember(name, Exact{value}); }

void Report::AddNull(std::string_view name, std::string_view shown) {
  AddMember(name, Null{std::string(shown)});
}

void Report::AddObject(std::string_view name, Report object) {
  AddMember(name, std::make_shared<const Report>(std::move(object)));
}

void Report::Append(const Report& other) {
  members_.insert(members_.end(), other.members_.begin(), other.members_.end());
}

void Report::AddList(std::string_view name, std::vector<Report> rows) {
  AddMember(name, std::move(rows));
}

std::string Report::ToJson() const {
  std::string text;
  JsonWriter json(&text);
  WriteJson(json);
  text.push_back('\n');
  return text;
}

void Report::WriteJson(JsonWriter& json) const {
  json.BeginObject();
  for (const Member& member : members_) WriteJsonMember(json, member);
  json.EndObject();
}

void Report::WriteJsonMember(JsonWriter& json, const Member& member) {
  if (const Bytes* bytes = std::get_if<Bytes>(&member.value)) {
    json.BytesMember(member.name, bytes->bytes, bytes->encoding);
    return;
  }
  json.Name(member.name);
  std::visit(
      [&](const auto& value) {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, std::string>) {
          json.Value(std::string_view(value));
        } else if constexpr (std::is_same_v<T, bool>) {
          json.Value(value);
        } else if constexpr (std::is_same_v<T, Number>) {
          std::visit([&](auto number) { json.Value(number); }, value.value);
        } else if constexpr (std::is_same_v<T, Exact>) {
          json.Value(std::string_view(std::to_string(value.value)));
        } else if constexpr (std::is_same_v<T, Null>) {
          json.Null();
        } else if constexpr (std::is_same_v<T, std::vector<Report>>) {
          json.BeginArray();
          for (const Report& row : value) row.WriteJson(json);
          json.EndArray();
        } else if constexpr (std::is_same_v<T, std::shared_ptr<const Report>>) {
          value->WriteJson(json);
        }
      },
      member.value);
}

std::string Report::Shown(const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return EncodePrintable(*text);
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "yes" : "no";
  if (const auto* exact = std::get_if<Exact>(&value)) return std::to_string(exact->value);
  if (const auto* null = std::get_if<Null>(&value)) return null->shown;
  if (const auto* bytes = std::get_if<Bytes>(&value)) {
    return bytes->encoding == Encoding::kText ? EncodePrintable(bytes->bytes)
                                              : EncodeBytes(bytes->encoding, bytes->bytes);
  }
  if (const auto* number = std::get_if<Number>(&value)) {
    return std::visit([&](auto n) { return Humane(n, number->unit); }, number->value);
  }
  return {};
}

std::string Report::ToTable() const {
  std::string out;
  WriteTable("", &out);
  return out;
}

void Report::WriteTable(std::string_view title, std::string* out) const {
  TableWriter own({{""}, {""}});
  bool has_own = false;
  for (const Member& member : members_) {
    if (member.value.index() >= std::variant_size_v<Value> - 2) continue;
    own.AddRow({Title(member.name), Shown(member.value)});
    has_own = true;
  }
  const auto heading = [&](std::string_view text) {
    if (!out->empty()) *out += "\n";
    if (!text.empty()) *out += UpperTitle(text) + "\n";
  };
  if (has_own) {
    heading(title);
    *out += own.Render();
  }
  for (const Member& member : members_) {
    if (const auto* object = std::get_if<std::shared_ptr<const Report>>(&member.value)) {
      (*object)->WriteTable(member.name, out);
    } else if (const auto* rows = std::get_if<std::vector<Report>>(&member.value)) {
      if (rows->empty()) continue;
      // A list that is all there is needs no heading.
      heading(members_.size() > 1 ? member.name : std::string_view());
      *out += ListTable(*rows);
    }
  }
}

std::string Report::ListTable(const std::vector<Report>& rows) {
  std::vector<TableWriter::Column> columns;
  for (const Member& member : rows.front().members_) {
    const bool number = std::holds_alternative<Number>(member.value);
    columns.push_back(
        {UpperTitle(member.name), number ? TableWriter::Align::kRight : TableWriter::Align::kLeft});
  }
  TableWriter table(columns);
  for (const Report& row : rows) {
    std::vector<std::string> cells;
    for (const Member& member : row.members_) cells.push_back(Shown(member.value));
    cells.resize(columns.size());
    table.AddRow(std::move(cells));
  }
  return table.Render();
}

}  // namespace dunlin::kvctl
