// Gathers and scatters. Negative indices count from the end; others outside are errors.
#include <algorithm>
#include <cstring>
#include <string>

#include "compiler/graph/evaluate/evaluate_internal.h"
#include "compiler/graph/tensor_io.h"

namespace mlc::graph::evaluate_internal {

namespace {

Result<int64_t> Locate(int64_t index, int64_t size) {
  const int64_t at = index < 0 ? index + size : index;
  if (at >= 0 && at < size) return at;
  return InvalidArgument("index " + std::to_string(index) + " is outside a dimension of " +
                         std::to_string(size));
}

// Where each update goes: offsets of blocks of `block` elements in data.
struct Places {
  std::vector<int64_t> offsets;
  int64_t block = 1;
};

Result<Places> GatherPlaces(const Value& node, const TensorData& data, const TensorData& indices) {
  const auto axis = static_cast<size_t>(node.Int("axis"));
  const std::span<const int64_t> dims(data.dims);
  Places places;
  places.block = CountOf(dims.subspan(axis + 1));
  std::vector<int64_t> located;
  for (const int64_t index : ReadInts(indices)) {
    located.push_back(MLC_TRY(Locate(index, dims[axis])));
  }
  const int64_t outer = CountOf(dims.first(axis));
  for (int64_t row = 0; row < outer; ++row) {
    for (const int64_t at : located) {
      places.offsets.push_back((row * dims[axis] + at) * places.block);
    }
  }
  return places;
}

Result<Places> ElementPlaces(const Value& node, const TensorData& data, const TensorData& indices) {
  const auto axis = static_cast<size_t>(node.Int("axis"));
  const std::vector<int64_t> strides = DenseStrides(data.dims);
  const std::vector<int64_t> values = ReadInts(indices);
  Places places;
  if (values.empty()) return places;
  std::vector<int64_t> at(indices.dims.size(), 0);
  size_t element = 0;
  do {
    int64_t offset = 0;
    for (size_t d = 0; d < at.size(); ++d) {
      offset += strides[d] * (d == axis ? MLC_TRY(Locate(values[element], data.dims[d])) : at[d]);
    }
    places.offsets.push_back(offset);
    ++element;
  } while (NextIndex(indices.dims, at));
  return places;
}

Result<Places> TuplePlaces(int64_t batch_dims, const TensorData& data, const TensorData& indices) {
  const auto batch = static_cast<size_t>(batch_dims);
  const auto depth = static_cast<size_t>(indices.dims.back());
  const std::vector<int64_t> strides = DenseStrides(data.dims);
  const std::vector<int64_t> values = ReadInts(indices);
  const std::span<const int64_t> index_dims(indices.dims);
  Places places;
  places.block = CountOf(std::span<const int64_t>(data.dims).subspan(batch + depth));
  const int64_t per_batch = CountOf(index_dims.subspan(batch, index_dims.size() - 1 - batch));
  const int64_t batch_block = CountOf(std::span<const int64_t>(data.dims).subspan(batch));
  const int64_t tuples = CountOf(index_dims.first(index_dims.size() - 1));
  for (int64_t tuple = 0; tuple < tuples; ++tuple) {
    int64_t offset = tuple / per_batch * batch_block;
    for (size_t i = 0; i < depth; ++i) {
      const int64_t index = values[static_cast<size_t>(tuple) * depth + i];
      offset += strides[batch + i] * MLC_TRY(Locate(index, data.dims[batch + i]));
    }
    places.offsets.push_back(offset);
  }
  return places;
}

TensorDataRef GatherBlocks(const Value& node, const TensorData& data, const Places& places) {
  const auto size = static_cast<size_t>(SizeOf(data.dtype));
  const size_t block = static_cast<size_t>(places.block) * size;
  std::vector<std::byte> bytes(places.offsets.size() * block);
  std::byte* to = bytes.data();
  for (const int64_t offset : places.offsets) {
    if (block > 0) std::memcpy(to, data.bytes.data() + static_cast<size_t>(offset) * size, block);
    to += block;
  }
  return MakeTensorData(data.dtype, node.type.dims, std::move(bytes));
}

template <typename T>
void ScatterValues(const std::string& reduction, const Places& places,
                   const std::vector<T>& updates, std::vector<T>& data) {
  size_t next = 0;
  for (const int64_t offset : places.offsets) {
    for (int64_t i = 0; i < places.block; ++i) {
      T& to = data[static_cast<size_t>(offset + i)];
      const T update = updates[next++];
      if (reduction == "add") {
        to += update;
      } else if (reduction == "mul") {
        to *= update;
      } else if (reduction == "max") {
        to = std::max(to, update);
      } else if (reduction == "min") {
        to = std::min(to, update);
      } else {
        to = update;
      }
    }
  }
}

// Sums and products of integers wrap: they are taken without a sign, comparisons with one.
TensorDataRef ScatterInts(const std::string& reduction, const Places& places,
                          const TensorData& updates, const TensorData& data) {
  std::vector<int64_t> to = ReadInts(data);
  const std::vector<int64_t> from = ReadInts(updates);
  if (reduction == "add" || reduction == "mul") {
    std::vector<uint64_t> wide(to.begin(), to.end());
    ScatterValues<uint64_t>(reduction, places, {from.begin(), from.end()}, wide);
    to.assign(wide.begin(), wide.end());
  } else {
    ScatterValues<int64_t>(reduction, places, from, to);
  }
  return WriteInts(data.dtype, data.dims, to);
}

}  // namespace

Result<TensorDataRef> EvaluateIndexed(const Value& node, Operands operands) {
  const TensorData& data = *operands[0];
  const TensorData& indices = *operands[1];
  switch (node.op) {
    case Op::kGather:
      return GatherBlocks(node, data, MLC_TRY(GatherPlaces(node, data, indices)));
    case Op::kGatherElements:
      return GatherBlocks(node, data, MLC_TRY(ElementPlaces(node, data, indices)));
    case Op::kGatherND:
      return GatherBlocks(node, data, MLC_TRY(TuplePlaces(node.Int("batch_dims"), data, indices)));
    default:
      break;
  }
  const Places places = node.op == Op::kScatterND ? MLC_TRY(TuplePlaces(0, data, indices))
                                                  : MLC_TRY(ElementPlaces(node, data, indices));
  const std::string& reduction = node.Word("reduction");
  if (!IsFloat(data.dtype)) return ScatterInts(reduction, places, *operands[2], data);
  std::vector<double> to = ReadDoubles(data);
  ScatterValues<double>(reduction, places, ReadDoubles(*operands[2]), to);
  return WriteDoubles(data.dtype, data.dims, to);
}

}  // namespace mlc::graph::evaluate_internal
