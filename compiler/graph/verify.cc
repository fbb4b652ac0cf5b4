#include "base/text.h"
#include "compiler/graph/graph.h"
#include "compiler/graph/ops.h"
#include "compiler/graph/shape.h"

namespace mlc::graph {

namespace {

Status VerifyNode(const Graph& graph, ValueId id) {
  const Value& node = graph[id];
  MLC_TRY(CheckType(node.type));
  std::vector<const TensorType*> operands;
  for (const ValueId operand : node.operands) {
    if (operand != kNoValue && (operand < 0 || operand >= id)) {
      return InvalidArgument("operand %" + std::to_string(operand) + " is not defined before");
    }
    operands.push_back(operand == kNoValue ? nullptr : &graph[operand].type);
  }
  MLC_TRY(CheckAttrs(node));
  if (node.data && node.op != Op::kConstant) return InvalidArgument("only constants have data");
  const TensorType type = MLC_TRY(InferType(node, operands));
  if (type.dtype != node.type.dtype || type.dims != node.type.dims) {
    TensorType declared = node.type;
    declared.strides.clear();
    return InvalidArgument("declared as " + declared.ToText() + ", but is " +
                           TensorType{type.dtype, type.dims, {}}.ToText());
  }
  return {};
}

}  // namespace

Status Graph::Verify() const {
  for (ValueId id = 0; id < size(); ++id) {
    const Status status = VerifyNode(*this, id);
    if (status.ok()) continue;
    const Value& node = (*this)[id];
    const std::string_view op =
        node.op == Op::kPointwise ? InfoOf(node.scalar).name : mlc::graph::ToText(node.op);
    std::string where = "%";
    where += std::to_string(id) + " = " + std::string(op);
    if (!node.name.empty()) where += " ('" + node.name + "')";
    return status.WithPrefix(where);
  }
  if (outputs_.empty()) return InvalidArgument("the graph has no output");
  for (const ValueId output : outputs_) {
    if (output < 0 || output >= size()) return InvalidArgument("an output does not exist");
  }
  if (!output_names_.empty() && output_names_.size() != outputs_.size()) {
    return InvalidArgument("output names do not match the outputs");
  }
  return {};
}

}  // namespace mlc::graph
