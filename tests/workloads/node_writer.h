// Writes the text of a workload node by node; values are numbered as they come. Not thread-safe.
#pragma once

#include <string>
#include <vector>

#include "tests/workloads/draw.h"

namespace mlc::schedule {

class NodeWriter {
 public:
  int Add(const std::string& line) {
    text_ += "  %" + std::to_string(next_) + " = " + line + "\n";
    return next_++;
  }
  int Input(const std::string& type) { return Add("input() : " + type); }
  std::string Return(std::vector<int> values) const {
    std::string list;
    for (int v : values) list += (list.empty() ? "%" : ", %") + std::to_string(v);
    return WorkloadText(text_, list);
  }

 private:
  std::string text_;
  int next_ = 0;
};

inline std::string V(int id) { return "%" + std::to_string(id); }

}  // namespace mlc::schedule
