#include <string>

#include "compiler/graph/onnx/read_message.h"
#include "compiler/graph/onnx/wire.h"

namespace mlc::graph::onnx {
namespace {

// TensorShapeProto.Dimension.
Status ReadDimension(std::string_view bytes, const ReadBudget& budget, DimMessage& dim) {
  return ForEachField(bytes, [&](const WireReader& reader) -> Status {
    if (reader.field() == 1 && reader.IsNumber()) {
      dim.has_value = true;
      dim.value = reader.Signed();
    }
    if (reader.field() == 2 && reader.IsBytes()) return budget.Name(reader.bytes(), dim.param);
    return Status();
  });
}

// TensorShapeProto.
Status ReadShape(std::string_view bytes, const ReadBudget& budget, ValueMessage& value) {
  value.has_shape = true;
  return ForEachBytesField(bytes, [&](uint32_t field, std::string_view dim) -> Status {
    if (field != 1) return Status();
    if (value.dims.size() == kMaxRank) {
      return InvalidArgument("value " + Quote(value.name) + " has more than " +
                             std::to_string(kMaxRank) + " dimensions");
    }
    return ReadDimension(dim, budget, value.dims.emplace_back());
  });
}

// TypeProto.Tensor.
Status ReadTensorType(std::string_view bytes, const ReadBudget& budget, ValueMessage& value) {
  value.is_tensor = true;
  return ForEachField(bytes, [&](const WireReader& reader) -> Status {
    if (reader.field() == 1 && reader.IsNumber()) {
      value.elem_type = static_cast<int32_t>(reader.number());
    }
    if (reader.field() == 2 && reader.IsBytes()) return ReadShape(reader.bytes(), budget, value);
    return Status();
  });
}

// TypeProto: tensors alone, other kinds leave the value without a type.
Status ReadType(std::string_view bytes, const ReadBudget& budget, ValueMessage& value) {
  return ForEachBytesField(bytes, [&](uint32_t field, std::string_view type) {
    return field == 1 ? ReadTensorType(type, budget, value) : Status();
  });
}

}  // namespace

// ValueInfoProto.
Status ReadValue(std::string_view bytes, const ReadBudget& budget, ValueMessage& value) {
  return ForEachBytesField(bytes, [&](uint32_t field, std::string_view content) -> Status {
    if (field == 1) return budget.Name(content, value.name);
    if (field == 2) return ReadType(content, budget, value);
    return Status();
  });
}

}  // namespace mlc::graph::onnx
