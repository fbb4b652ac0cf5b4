#include <algorithm>
#include <string>
#include <utility>

#include "compiler/graph/onnx/packed.h"
#include "compiler/graph/onnx/read_message.h"
#include "compiler/graph/onnx/wire.h"

namespace mlc::graph::onnx {
namespace {

// StringStringEntryProto.
Status ReadPair(std::string_view bytes, StringPair& pair) {
  return ForEachBytesField(bytes, [&](uint32_t field, std::string_view text) {
    if (field == 1) pair.key = text;
    if (field == 2) pair.value = text;
    return Status();
  });
}

// One more than there may be is kept: CheckRank refuses it when the name is known, which follows
// the dimensions in a file.
Status ReadDimensions(const WireReader& reader, TensorMessage& tensor) {
  if (tensor.dims.size() > kMaxRank) return Status();
  return AppendInts(reader, tensor.dims, kMaxRank);
}

Status CheckRank(const TensorMessage& tensor) {
  if (tensor.dims.size() <= kMaxRank) return Status();
  return InvalidArgument("tensor " + Quote(tensor.name) + " has more than " +
                         std::to_string(kMaxRank) + " dimensions");
}

// An unpacked element is the few bytes before the reader's position: not kept as a view.
Status AppendPacked(const WireReader& reader, std::vector<std::string_view>& chunks) {
  if (!reader.IsBytes()) return InvalidArgument("tensor data is not packed");
  chunks.push_back(reader.bytes());
  return Status();
}

Status ReadExternalData(const WireReader& reader, ReadBudget& budget, TensorMessage& tensor) {
  MLC_TRY(budget.CountMessage());
  return reader.IsBytes() ? ReadPair(reader.bytes(), tensor.external_data.emplace_back())
                          : Status();
}

// Fields of elements, each once.
void NoteFilled(const WireReader& reader, TensorMessage& tensor) {
  constexpr std::pair<uint32_t, std::string_view> kDataFields[] = {
      {4, "float_data"}, {5, "int32_data"},   {6, "string_data"}, {7, "int64_data"},
      {9, "raw_data"},   {10, "double_data"}, {11, "uint64_data"}};
  for (const auto& [field, name] : kDataFields) {
    if (field != reader.field()) continue;
    if (reader.IsBytes() && reader.bytes().empty() && field != 6) return;
    if (std::ranges::find(tensor.filled, name) == tensor.filled.end()) {
      tensor.filled.push_back(name);
    }
  }
}

// TensorProto.
Status ReadTensorField(const WireReader& reader, ReadBudget& budget, TensorMessage& tensor) {
  switch (reader.field()) {
    case 1:
      return ReadDimensions(reader, tensor);
    case 2:
      if (reader.IsNumber()) tensor.data_type = static_cast<int32_t>(reader.number());
      break;
    case 4:
      return AppendPacked(reader, tensor.float_data);
    case 5:
    case 7:
    case 11:
      return AppendInts(reader, tensor.ints);
    case 6:
      ++tensor.strings;
      break;
    case 8:
      if (reader.IsBytes()) return budget.Name(reader.bytes(), tensor.name);
      break;
    case 9:
      if (!reader.IsBytes()) break;
      tensor.raw = reader.bytes();
      tensor.has_raw = true;
      break;
    case 10:
      return AppendPacked(reader, tensor.double_data);
    case 13:
      return ReadExternalData(reader, budget, tensor);
    case 14:
      if (reader.IsNumber()) tensor.external = reader.number() == 1;
      break;
    default:
      break;
  }
  return Status();
}

}  // namespace

Status ReadTensor(std::string_view bytes, ReadBudget& budget, TensorMessage& tensor) {
  MLC_TRY(ForEachField(bytes, [&](const WireReader& reader) {
    NoteFilled(reader, tensor);
    return ReadTensorField(reader, budget, tensor);
  }));
  return CheckRank(tensor);
}

}  // namespace mlc::graph::onnx
