// Runs a program of the build as a user does.
#pragma once

#include <string>
#include <vector>

namespace mlc::testing {

struct Finished {
  int exit_code = -1;  // 128 + n for signal n
  std::string output;  // stdout and stderr together
};

Finished RunProgram(const std::vector<std::string>& command);

}  // namespace mlc::testing
