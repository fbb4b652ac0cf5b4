// A block of lines at the bottom of a terminal, which is redrawn in place even if the terminal was
// resized. It writes nothing itself; use it from one thread.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace mlc::client {

class TerminalBlock {
 public:
  // The text to write to a terminal of this size, so that it shows these lines, each of which fits,
  // in place of the last ones, with the cursor below. It only moves the cursor up and erases: no
  // colours and no alternate screen, so nothing has to be restored at exit.
  std::string Redraw(const std::vector<std::string>& lines, size_t columns, size_t rows);
  bool is_drawn() const { return !widths_.empty(); }

 private:
  std::vector<size_t> widths_;  // of the lines drawn, in columns
  // Rows of earlier blocks that scrolled out when the terminal shrank; they may reappear when it
  // grows.
  size_t rows_above_ = 0;
  size_t rows_ = 0;  // of the terminal
};

}  // namespace mlc::client
