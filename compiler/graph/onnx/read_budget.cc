#include "compiler/graph/onnx/read_budget.h"

#include <string>

#include "compiler/graph/onnx/model.h"

namespace mlc::graph::onnx {

Status ReadBudget::CountMessage() {
  if (++messages_ <= limits_.messages) return Status();
  return InvalidArgument("the model holds more than " + std::to_string(limits_.messages) +
                         " messages");
}

Status ReadBudget::CountNode() {
  MLC_TRY(CountMessage());
  if (++nodes_ <= limits_.nodes) return Status();
  return InvalidArgument("the model has more than " + std::to_string(limits_.nodes) + " nodes");
}

Status ReadBudget::Name(std::string_view text, std::string_view& name) const {
  if (text.size() > limits_.name_bytes) {
    return InvalidArgument("the name " + Quote(text) + " is longer than " +
                           std::to_string(limits_.name_bytes) + " bytes");
  }
  name = text;
  return Status();
}

Status ReadBudget::ListedName(std::string_view text, std::string_view& name) {
  MLC_TRY(CountMessage());
  return Name(text, name);
}

Status ReadBudget::EnterSubgraph() {
  if (depth_ == limits_.depth) {
    return InvalidArgument("subgraphs are nested more than " + std::to_string(limits_.depth) +
                           " deep");
  }
  ++depth_;
  return Status();
}

}  // namespace mlc::graph::onnx
