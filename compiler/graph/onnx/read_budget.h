// The budget of reading one file: counts messages, nodes, nesting and name lengths against
// ParseLimits. Every error names the exceeded limit. One object per file; not thread-safe.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/status.h"
#include "compiler/graph/onnx/parse.h"

namespace mlc::graph::onnx {

class ReadBudget {
 public:
  explicit ReadBudget(const ParseLimits& limits) : limits_(limits) {}

  Status CountMessage();
  Status CountNode();
  // Sets `name` to the text; fails if it is too long.
  Status Name(std::string_view text, std::string_view& name) const;
  // The same for one of a list of names, each of which counts as a message.
  Status ListedName(std::string_view text, std::string_view& name);
  bool reads_value_info() const { return limits_.value_info; }
  // Call them around a graph inside a node. After an error, LeaveSubgraph is not needed.
  Status EnterSubgraph();
  void LeaveSubgraph() { --depth_; }

 private:
  ParseLimits limits_;
  int64_t messages_ = 0;
  int64_t nodes_ = 0;
  int depth_ = 0;
};

}  // namespace mlc::graph::onnx
