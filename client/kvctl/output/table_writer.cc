#include "client/kvctl/output/table_writer.h"

#include <algorithm>
#include <utility>

#include "common/base/check.h"

namespace dunlin::kvctl {
namespace {

size_t CodePoints(std::string_view text) {
  return std::count_if(text.begin(), text.end(),
                       [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
}

}  // namespace

void TableWriter::AddRow(std::vector<std::string> cells) {
  DUNLIN_CHECK_EQ(cells.size(), columns_.size());
  rows_.push_back(std::move(cells));
}

std::vector<size_t> TableWriter::Widths(bool with_titles) const {
  std::vector<size_t> widths(columns_.size(), 0);
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (with_titles) widths[i] = CodePoints(columns_[i].title);
    for (const std::vector<std::string>& row : rows_) {
      widths[i] = std::max(widths[i], CodePoints(row[i]));
    }
  }
  return widths;
}

std::string TableWriter::Render() const {
  const bool with_titles = std::any_of(columns_.begin(), columns_.end(),
                                       [](const Column& column) { return !column.title.empty(); });
  const std::vector<size_t> widths = Widths(with_titles);
  std::string out;
  const auto add_line = [&](auto&& cell) {
    size_t owed = 0;  // spaces before the next text, so that none are left at the end of a line
    for (size_t i = 0; i < columns_.size(); ++i) {
      const std::string& text = cell(i);
      const size_t padding = widths[i] - CodePoints(text);
      if (columns_[i].align == Align::kRight) owed += padding;
      if (!text.empty()) {
        out.append(owed, ' ');
        out += text;
        owed = 0;
      }
      if (columns_[i].align == Align::kLeft) owed += padding;
      owed += 2;
    }
    out.push_back('\n');
  };
  if (with_titles) {
    add_line([&](size_t i) -> const std::string& { return columns_[i].title; });
  }
  for (const std::vector<std::string>& row : rows_) {
    add_line([&](size_t i) -> const std::string& { return row[i]; });
  }
  return out;
}

}  // namespace dunlin::kvctl
