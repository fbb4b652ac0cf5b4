// A block of lines at the bottom of a terminal that is drawn again in its place, whatever size the
// terminal has by then. Writes nothing itself; use it from one thread.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace mlc::client {

class TerminalBlock {
 public:
  // What to write to a terminal of this size so that it shows these lines, each of which fits, in
  // place of the last ones, with the cursor below. Only moves up and erases: no colours, no other
  // screen, nothing to restore when the program ends.
  std::string Redraw(const std::vector<std::string>& lines, size_t columns, size_t rows);
  bool is_drawn() const { return !widths_.empty(); }

 private:
  std::vector<size_t> widths_;  // of the lines drawn, in columns
  // Rows of earlier blocks that a lower terminal has pushed out at its top: a higher one may show
  // them again.
  size_t rows_above_ = 0;
  size_t rows_ = 0;  // of the terminal
};

}  // namespace mlc::client
