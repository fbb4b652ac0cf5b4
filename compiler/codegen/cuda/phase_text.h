// The printed lines of a function, and the names that the printer generates. Generated names have
// capital letters; names of the kernel have none. Not thread-safe.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "compiler/codegen/cuda/cxx_text.h"

namespace mlc::codegen {

class PhaseText {
 public:
  void Line(std::string_view text);
  void Open(std::string text);  // the line and "{"
  void Else();                  // "} else {"
  void Close();
  // A name for a scalar.
  Text NewName();
  // A constant of this type and value, under a new name.
  Text Temporary(std::string_view type, const Text& value);
  std::string NewArray(std::string_view type, int count, bool zeros);
  // The statement for each lane `L`: in an unrolled loop, or line by line if there are few. It may
  // print lines that it needs.
  void LaneLoop(int begin, int end, const std::function<std::string()>& statement);

  const std::string& lines() const { return lines_; }

 private:
  std::string lines_;
  int depth_ = 1;
  int names_ = 0;
};

}  // namespace mlc::codegen
