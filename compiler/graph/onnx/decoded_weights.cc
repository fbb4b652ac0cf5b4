#include "compiler/graph/onnx/decoded_weights.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "compiler/graph/tensor_io.h"

namespace mlc::graph::onnx {
namespace {

// Different products may share packed weights, as embeddings and the last product of a language
// model do; no model decodes the same bytes in many different ways.
constexpr int kMaxTimes = 8;

struct Layout {
  int64_t outer = 1;
  int64_t length = 1;  // of the axis
  int64_t inner = 1;
};

Layout LayoutOf(const std::vector<int64_t>& dims, int64_t axis) {
  Layout layout;
  layout.length = dims[static_cast<size_t>(axis)];
  for (size_t i = 0; i < dims.size(); ++i) {
    if (static_cast<int64_t>(i) < axis) layout.outer *= dims[i];
    if (static_cast<int64_t>(i) > axis) layout.inner *= dims[i];
  }
  return layout;
}

std::vector<float> Numbers(const TensorData& data) {
  const std::vector<double> wide = ReadDoubles(data);
  return {wide.begin(), wide.end()};
}

// The numbers of row `outer`, one for each index of the axis and after it.
template <typename Code>
void DecodeRow(const BlockCodes& blocks, const Layout& layout, int64_t outer,
               const std::vector<float>& scales, const std::vector<float>& zeros,
               std::vector<double>& row) {
  const auto* code = reinterpret_cast<const Code*>(blocks.codes->bytes.data()) +
                     outer * layout.length * layout.inner;
  const float fixed_zero = static_cast<float>(blocks.zero);
  size_t at = 0;
  for (int64_t k = 0; k < layout.length; ++k) {
    const int64_t block = outer * blocks.blocks + blocks.block_of[static_cast<size_t>(k)];
    for (int64_t i = 0; i < layout.inner; ++i, ++at) {
      const size_t place = static_cast<size_t>(block * layout.inner + i);
      const float zero = zeros.empty() ? fixed_zero : zeros[place];
      row[at] = (static_cast<float>(*code++) - zero) * scales[place];
    }
  }
}

}  // namespace

Result<TensorDataRef> UnpackRows(const TensorData& packed, int bits, int64_t rows, int64_t stored,
                                 int64_t kept) {
  const int64_t a_byte = 8 / bits;
  const int64_t row_bytes = stored / a_byte + (stored % a_byte == 0 ? 0 : 1);
  const int64_t size = static_cast<int64_t>(packed.bytes.size());
  if (rows != 0 && (row_bytes > size / rows || row_bytes * rows != size)) {
    return InvalidArgument("the packed weights have " + std::to_string(size) + " bytes, not " +
                           std::to_string(rows) + " rows of " + std::to_string(row_bytes));
  }
  const unsigned mask = (1u << bits) - 1;
  std::vector<std::byte> codes(static_cast<size_t>(rows * kept));
  for (int64_t row = 0; row < rows; ++row) {
    const std::byte* const from = packed.bytes.data() + row * row_bytes;
    std::byte* const to = codes.data() + row * kept;
    for (int64_t i = 0; i < kept; ++i) {
      const unsigned byte = static_cast<uint8_t>(from[i / a_byte]);
      to[i] = static_cast<std::byte>((byte >> (i % a_byte * bits)) & mask);
    }
  }
  return MakeTensorData(DType::kU8, {rows, kept}, std::move(codes));
}

Result<ValueId> DecodedWeights::Once(const DecodingWay& way, int64_t bytes,
                                     const std::function<Result<ValueId>()>& decode) {
  std::vector<int64_t> key = way.numbers;
  for (const TensorDataRef& source : way.sources) {
    key.push_back(source == nullptr ? 0 : reinterpret_cast<intptr_t>(source->bytes.data()));
    key.push_back(source == nullptr ? -1 : static_cast<int64_t>(source->dtype));
    key.push_back(source == nullptr ? 0 : static_cast<int64_t>(source->bytes.size()));
  }
  const auto found = entries_.find(key);
  if (found != entries_.end()) return found->second.decoded;
  MLC_TRY(Charge(*way.sources[0], bytes));
  const ValueId decoded = MLC_TRY(decode());
  entries_[std::move(key)] = {way.sources, decoded};
  return decoded;
}

Status DecodedWeights::Charge(const TensorData& packed, int64_t bytes) {
  if (bytes > max_bytes_ - bytes_) {
    return InvalidArgument("the model's packed weights take more than " +
                           std::to_string(max_bytes_ >> 20) +
                           " MiB as real numbers: use a smaller model, or scales of f16");
  }
  if (++times_[packed.bytes.data()] > kMaxTimes) {
    return InvalidArgument("the same packed weights are used in more than " +
                           std::to_string(kMaxTimes) +
                           " different ways: store them once for each way");
  }
  bytes_ += bytes;
  return Status();
}

Result<TensorDataRef> DecodeBlocks(const BlockCodes& blocks, DType dtype) {
  const TensorData& codes = *blocks.codes;
  const Layout layout = LayoutOf(codes.dims, blocks.axis);
  const std::vector<float> scales = Numbers(*blocks.scales);
  const std::vector<float> zeros =
      blocks.zeros == nullptr ? std::vector<float>() : Numbers(*blocks.zeros);
  const size_t needed = static_cast<size_t>(layout.outer * blocks.blocks * layout.inner);
  if (scales.size() != needed || (blocks.zeros != nullptr && zeros.size() != needed)) {
    return InvalidArgument("the weights need " + std::to_string(needed) +
                           " scales, and as many zero points if there are any, but have " +
                           std::to_string(scales.size()) + " and " + std::to_string(zeros.size()));
  }
  const int64_t count = layout.outer * layout.length * layout.inner;
  std::vector<std::byte> bytes(static_cast<size_t>(count * SizeOf(dtype)));
  std::vector<double> row(static_cast<size_t>(layout.length * layout.inner));
  const auto decode = codes.dtype == DType::kI8 ? DecodeRow<int8_t> : DecodeRow<uint8_t>;
  std::byte* to = bytes.data();
  for (int64_t outer = 0; outer < layout.outer; ++outer) {
    decode(blocks, layout, outer, scales, zeros, row);
    const TensorDataRef narrow = WriteDoubles(dtype, {static_cast<int64_t>(row.size())}, row);
    if (row.empty()) continue;
    std::memcpy(to, narrow->bytes.data(), narrow->bytes.size());
    to += narrow->bytes.size();
  }
  return MakeTensorData(dtype, codes.dims, std::move(bytes));
}

}  // namespace mlc::graph::onnx
