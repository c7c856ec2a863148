#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "client/kvctl/formats/json_writer.h"
#include "client/kvctl/formats/record.h"

namespace dunlin::kvctl {

// What a number means: tables show it to people ("8.00 GiB"), JSON gives the number itself.
enum class Unit {
  kNone,        // an identifier or version: digits only
  kCount,       // 1,234,567
  kBytes,       // 8.00 GiB
  kMillis,      // 1.23 s
  kNanos,       // 1.23 us
  kPerCent,     // a fraction: 12.3 %
  kRate,        // a second: 1.23 M/s
  kUnixMillis,  // a moment of the wall clock: 2026-11-30 16:26:24.123 UTC
};

// The answer of a command: named values, objects and lists in a given order, rendered as JSON or
// as a table. Names are in snake_case; the table shows "heap_bytes" as "heap bytes", and
// "age_ms" as "age", "finished_unix_ms" as "finished".
class Report {
 public:
  void Add(std::string_view name, std::string_view text) { AddText(name, text); }
  void Add(std::string_view name, const char* text) { AddText(name, text); }
  void Add(std::string_view name, bool value) { AddMember(name, value); }
  void Add(std::string_view name, double value, Unit unit) { AddMember(name, Number{value, unit}); }
  template <std::unsigned_integral T>
  void Add(std::string_view name, T value, Unit unit = Unit::kCount) {
    AddMember(name, Number{static_cast<uint64_t>(value), unit});
  }
  template <std::signed_integral T>
  void Add(std::string_view name, T value, Unit unit = Unit::kCount) {
    AddMember(name, Number{static_cast<int64_t>(value), unit});
  }
  // Key or value: see JsonWriter::BytesMember; in a table printable, or as `encoding` says.
  void AddBytes(std::string_view name, std::string_view bytes, Encoding encoding);
  // A 64-bit number that JSON readers must not round: JSON gives it as a string.
  void AddExact(std::string_view name, uint64_t value);
  // JSON null; `shown` in a table.
  void AddNull(std::string_view name, std::string_view shown);
  void AddObject(std::string_view name, Report object);
  // The members of another.
  void Append(const Report& other);
  // Each row should have the same members: they become the columns.
  void AddList(std::string_view name, std::vector<Report> rows);

  std::string ToJson() const;   // one line, ended by '\n'
  std::string ToTable() const;  // lines ended by '\n'

 private:
  struct Number {
    std::variant<uint64_t, int64_t, double> value;
    Unit unit;
  };
  struct Bytes {
    std::string bytes;
    Encoding encoding;
  };
  struct Exact {
    uint64_t value;
  };
  struct Null {
    std::string shown;
  };
  using Value = std::variant<std::string, bool, Number, Bytes, Exact, Null, std::vector<Report>,
                             std::shared_ptr<const Report>>;
  struct Member {
    std::string name;
    Value value;
  };

  void AddText(std::string_view name, std::string_view text);
  void AddMember(std::string_view name, Value value);
  void WriteJson(JsonWriter& json) const;
  static void WriteJsonMember(JsonWriter& json, const Member& member);
  void WriteTable(std::string_view title, std::string* out) const;
  static std::string ListTable(const std::vector<Report>& rows);
  static std::string Shown(const Value& value);

  std::vector<Member> members_;
};

}  // namespace dunlin::kvctl
