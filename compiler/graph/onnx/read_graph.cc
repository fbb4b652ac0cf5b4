#include <memory>
#include <utility>

#include "compiler/graph/onnx/packed.h"
#include "compiler/graph/onnx/read_message.h"
#include "compiler/graph/onnx/wire.h"

namespace mlc::graph::onnx {
namespace {

Status ReadTensorAttribute(const WireReader& reader, ReadBudget& budget,
                           AttributeMessage& attribute) {
  auto tensor = std::make_shared<TensorMessage>();
  if (reader.IsBytes()) MLC_TRY(ReadTensor(reader.bytes(), budget, *tensor));
  attribute.tensor = std::move(tensor);
  return Status();
}

Status ReadGraphAttribute(const WireReader& reader, ReadBudget& budget,
                          AttributeMessage& attribute) {
  MLC_TRY(budget.EnterSubgraph());
  auto graph = std::make_shared<GraphMessage>();
  if (reader.IsBytes()) MLC_TRY(ReadGraph(reader.bytes(), budget, *graph));
  attribute.graph = std::move(graph);
  budget.LeaveSubgraph();
  return Status();
}

// The fields of AttributeProto that hold a value: an attribute's kind is its field's number less 1.
bool IsAttributeValue(uint32_t field) { return field >= 2 && field <= 9; }

Status ReadAttributeValue(const WireReader& reader, ReadBudget& budget,
                          AttributeMessage& attribute) {
  switch (reader.field()) {
    case 2:
      attribute.f = reader.Float();
      break;
    case 3:
      attribute.i = reader.Signed();
      break;
    case 4:
      if (reader.IsBytes()) attribute.s = reader.bytes();
      break;
    case 5:
      return ReadTensorAttribute(reader, budget, attribute);
    case 6:
      return ReadGraphAttribute(reader, budget, attribute);
    case 7:
      return AppendFloats(reader, attribute.floats);
    case 8:
      return AppendInts(reader, attribute.ints);
    case 9:
      if (reader.IsBytes()) attribute.strings.push_back(reader.bytes());
      break;
    default:
      break;
  }
  return Status();
}

}  // namespace

// AttributeProto.
Status ReadAttribute(std::string_view bytes, ReadBudget& budget, AttributeMessage& attribute) {
  MLC_TRY(budget.CountMessage());
  AttrKind present = AttrKind::kNone;
  MLC_TRY(ForEachField(bytes, [&](const WireReader& reader) -> Status {
    const uint32_t field = reader.field();
    if (field == 1 && reader.IsBytes()) return budget.Name(reader.bytes(), attribute.name);
    if (field == 21 && reader.IsBytes()) return budget.Name(reader.bytes(), attribute.ref);
    if (field == 20 && reader.IsNumber()) attribute.kind = static_cast<AttrKind>(reader.number());
    if (!IsAttributeValue(field)) return Status();
    present = static_cast<AttrKind>(field - 1);
    return ReadAttributeValue(reader, budget, attribute);
  }));
  // Files before IR version 2 leave the kind out: the field that is present tells it.
  if (attribute.kind == AttrKind::kNone) attribute.kind = present;
  return Status();
}

// NodeProto.
Status ReadNode(std::string_view bytes, ReadBudget& budget, NodeMessage& node) {
  MLC_TRY(budget.CountNode());
  MLC_TRY(ForEachBytesField(bytes, [&](uint32_t field, std::string_view content) -> Status {
    switch (field) {
      case 1:
        return budget.ListedName(content, node.inputs.emplace_back());
      case 2:
        return budget.ListedName(content, node.outputs.emplace_back());
      case 3:
        return budget.Name(content, node.name);
      case 4:
        return budget.Name(content, node.op_type);
      case 5:
        return ReadAttribute(content, budget, node.attributes.emplace_back());
      case 7:
        return budget.Name(content, node.domain);
      case 8:
        return budget.Name(content, node.overload);
      default:
        return Status();
    }
  }));
  if (!node.op_type.empty()) return Status();
  return InvalidArgument("node " + Quote(node.name) + " has no operator");
}

// GraphProto.
Status ReadGraph(std::string_view bytes, ReadBudget& budget, GraphMessage& graph) {
  return ForEachBytesField(bytes, [&](uint32_t field, std::string_view content) -> Status {
    switch (field) {
      case 1:
        return ReadNode(content, budget, graph.nodes.emplace_back());
      case 5:
        MLC_TRY(budget.CountMessage());
        return ReadTensor(content, budget, graph.initializers.emplace_back());
      case 11:
        MLC_TRY(budget.CountMessage());
        return ReadValue(content, budget, graph.inputs.emplace_back());
      case 12:
        MLC_TRY(budget.CountMessage());
        return ReadValue(content, budget, graph.outputs.emplace_back());
      case 13:
        if (!budget.reads_value_info()) return Status();
        MLC_TRY(budget.CountMessage());
        return ReadValue(content, budget, graph.values.emplace_back());
      case 15:
        ++graph.sparse_initializers;
        return Status();
      default:
        return Status();
    }
  });
}

}  // namespace mlc::graph::onnx
