#include "bench/kvbench/workload/record_codec.h"

namespace dunlin::kvbench {
namespace {

void AppendPart(std::string_view part, std::string& to) {
  const auto length = static_cast<uint32_t>(part.size());
  const char bytes[] = {static_cast<char>(length >> 24), static_cast<char>(length >> 16),
                        static_cast<char>(length >> 8), static_cast<char>(length)};
  to.append(bytes, sizeof(bytes));
  to.append(part);
}

std::optional<std::string_view> TakePart(std::string_view& from) {
  if (from.size() < sizeof(uint32_t)) return std::nullopt;
  uint32_t length = 0;
  for (size_t i = 0; i < sizeof(length); ++i) {
    length = length << 8 | static_cast<unsigned char>(from[i]);
  }
  if (from.size() - sizeof(length) < length) return std::nullopt;
  const std::string_view part = from.substr(sizeof(length), length);
  from.remove_prefix(sizeof(length) + length);
  return part;
}

}  // namespace

void AppendField(std::string_view name, std::string_view content, std::string& record) {
  AppendPart(name, record);
  AppendPart(content, record);
}

std::optional<Field> TakeField(std::string_view& record) {
  const std::optional<std::string_view> name = TakePart(record);
  if (!name) return std::nullopt;
  const std::optional<std::string_view> content = TakePart(record);
  if (!content) return std::nullopt;
  return Field{*name, *content};
}

bool ReplaceField(std::string_view record, std::string_view name, std::string_view content,
                  std::string& to) {
  bool found = false;
  while (!record.empty()) {
    const std::optional<Field> field = TakeField(record);
    if (!field) return false;
    const bool same = field->name == name;
    AppendField(field->name, same ? content : field->content, to);
    found |= same;
  }
  if (!found) AppendField(name, content, to);
  return true;
}

}  // namespace dunlin::kvbench
