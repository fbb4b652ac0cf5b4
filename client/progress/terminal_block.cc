#include "client/progress/terminal_block.h"

#include <algorithm>

#include "client/progress/text_columns.h"

namespace mlc::client {

std::string TerminalBlock::Redraw(const std::vector<std::string>& lines, size_t columns,
                                  size_t rows) {
  // A terminal made narrower since has wrapped the longer lines.
  size_t drawn = 0;
  for (const size_t width : widths_) drawn += 1 + (width > 0 ? (width - 1) / columns : 0);
  // One made higher shows again what it had pushed out, or leaves it: then the block is at its top,
  // where the cursor stops.
  const size_t returned = rows > rows_ ? std::min(rows_above_, rows - rows_) : 0;
  drawn += returned;
  rows_above_ -= returned;
  std::string text = drawn > 0 ? "\x1b[" + std::to_string(drawn) + "F" : "";
  if (drawn >= rows) rows_above_ += drawn - (rows - 1);
  rows_ = rows;
  widths_.clear();
  for (const std::string& line : lines) {
    text += line + "\x1b[K\n";
    widths_.push_back(ColumnsOf(line));
  }
  return text + "\x1b[J";
}

}  // namespace mlc::client
