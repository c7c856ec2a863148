#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace dunlin::kvctl {

// Lays out rows in columns two spaces apart. Cells are text for people: pass bytes of unknown
// nature through EncodePrintable first. Widths count code points. Keeps all rows until Render.
class TableWriter {
 public:
  enum class Align { kLeft, kRight };

  struct Column {
    std::string title;  // no title line is written if all are empty
    Align align = Align::kLeft;
  };

  explicit TableWriter(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // REQUIRES: as many cells as columns.
  void AddRow(std::vector<std::string> cells);

  // The table, each line ended by '\n', without trailing spaces.
  std::string Render() const;

 private:
  std::vector<size_t> Widths(bool with_titles) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace dunlin::kvctl
