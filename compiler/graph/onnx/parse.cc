#include "compiler/graph/onnx/parse.h"

#include "compiler/graph/onnx/read_budget.h"
#include "compiler/graph/onnx/read_message.h"
#include "compiler/graph/onnx/wire.h"

namespace mlc::graph::onnx {
namespace {

// OperatorSetIdProto.
Status ReadOpset(std::string_view bytes, const ReadBudget& budget, OpsetMessage& opset) {
  return ForEachField(bytes, [&](const WireReader& reader) -> Status {
    if (reader.field() == 1 && reader.IsBytes()) return budget.Name(reader.bytes(), opset.domain);
    if (reader.field() == 2 && reader.IsNumber()) opset.version = reader.Signed();
    return Status();
  });
}

// FunctionProto.
Status ReadFunction(std::string_view bytes, ReadBudget& budget, FunctionMessage& function) {
  MLC_TRY(budget.CountMessage());
  return ForEachBytesField(bytes, [&](uint32_t field, std::string_view content) -> Status {
    switch (field) {
      case 1:
        return budget.Name(content, function.name);
      case 4:
        return budget.Name(content, function.inputs.emplace_back());
      case 5:
        return budget.Name(content, function.outputs.emplace_back());
      case 7:
        return ReadNode(content, budget, function.nodes.emplace_back());
      case 9:
        return ReadOpset(content, budget, function.opsets.emplace_back());
      case 10:
        return budget.Name(content, function.domain);
      case 11:
        return ReadAttribute(content, budget, function.defaults.emplace_back());
      case 13:
        return budget.Name(content, function.overload);
      default:
        return Status();
    }
  });
}

// ModelProto.
Status ReadModelField(const WireReader& reader, ReadBudget& budget, ModelMessage& model) {
  switch (reader.field()) {
    case 1:
      if (reader.IsNumber()) model.ir_version = reader.Signed();
      break;
    case 7:
      if (!reader.IsBytes()) break;
      if (model.has_graph) return InvalidArgument("the model holds two graphs");
      model.has_graph = true;
      return ReadGraph(reader.bytes(), budget, model.graph);
    case 8:
      MLC_TRY(budget.CountMessage());
      if (reader.IsBytes()) return ReadOpset(reader.bytes(), budget, model.opsets.emplace_back());
      break;
    case 25:
      if (!reader.IsBytes()) break;
      return ReadFunction(reader.bytes(), budget, model.functions.emplace_back());
    default:
      break;
  }
  return Status();
}

}  // namespace

Result<ModelMessage> ParseModel(std::string_view bytes, const ParseLimits& limits) {
  ReadBudget budget(limits);
  ModelMessage model;
  MLC_TRY(ForEachField(
      bytes, [&](const WireReader& reader) { return ReadModelField(reader, budget, model); }));
  if (!model.has_graph) return InvalidArgument("the file is not a valid ONNX model: no graph");
  return model;
}

Result<TensorMessage> ParseTensor(std::string_view bytes) {
  ReadBudget budget(ParseLimits{});
  TensorMessage tensor;
  MLC_TRY(ReadTensor(bytes, budget, tensor));
  return tensor;
}

}  // namespace mlc::graph::onnx
