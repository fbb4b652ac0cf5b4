#include "compiler/graph/onnx/tensor.h"

#include <bit>
#include <charconv>
#include <cstring>
#include <utility>

#include "compiler/graph/onnx/import.h"
#include "compiler/graph/onnx/low_bits.h"
#include "compiler/graph/onnx/parse.h"
#include "compiler/graph/ops.h"

namespace mlc::graph::onnx {
namespace {

static_assert(std::endian::native == std::endian::little, "raw data is little-endian");

// No value of a sensible model is larger; sizes below it never overflow 64-bit arithmetic.
constexpr int64_t kMaxValueBytes = int64_t{1} << 36;

std::string What(const TensorMessage& message) { return "tensor " + Quote(message.name); }

// Wraps bytes that `owner` keeps; copies them if they are not aligned for their elements.
TensorDataRef Wrap(DType dtype, const std::vector<int64_t>& dims, std::string_view bytes,
                   const std::shared_ptr<const void>& owner) {
  const auto* const data = reinterpret_cast<const std::byte*>(bytes.data());
  if (reinterpret_cast<uintptr_t>(data) % static_cast<size_t>(SizeOf(dtype)) != 0) {
    return MakeTensorData(dtype, dims, std::vector<std::byte>(data, data + bytes.size()));
  }
  auto tensor = std::make_shared<TensorData>();
  tensor->dtype = dtype;
  tensor->dims = dims;
  tensor->bytes = {data, bytes.size()};
  tensor->owner = owner;
  return tensor;
}

// Types of whole bytes; low_bits.cc has the others.
constexpr std::pair<int32_t, DType> kWholeTypes[] = {
    {kFloat, DType::kF32},    {kUint8, DType::kU8},   {kInt8, DType::kI8},
    {kUint16, DType::kU16},   {kInt16, DType::kI16},  {kInt32, DType::kI32},
    {kInt64, DType::kI64},    {kBool, DType::kBool},  {kFloat16, DType::kF16},
    {kDouble, DType::kF64},   {kUint32, DType::kU32}, {kUint64, DType::kU64},
    {kBfloat16, DType::kBF16}};

Result<uint64_t> ParseUnsigned(const TensorMessage& message, const StringPair& pair) {
  uint64_t value = 0;
  const char* const end = pair.value.data() + pair.value.size();
  const auto [stop, error] = std::from_chars(pair.value.data(), end, value);
  if (error != std::errc() || stop != end || pair.value.empty()) {
    return InvalidArgument(What(message) + ": external data " + std::string(pair.key) + " " +
                           Quote(pair.value) + " is not a non-negative number");
  }
  return value;
}

struct ExternalPlace {
  std::string_view location;
  uint64_t offset = 0;
  std::optional<uint64_t> length;
};

Result<ExternalPlace> PlaceOf(const TensorMessage& message) {
  ExternalPlace place;
  std::vector<std::string_view> seen;
  for (const StringPair& pair : message.external_data) {
    for (const std::string_view key : seen) {
      if (key == pair.key) {
        return InvalidArgument(What(message) + ": external data key " + Quote(key) +
                               " is given twice");
      }
    }
    seen.push_back(pair.key);
    if (pair.key == "location") {
      place.location = pair.value;
    } else if (pair.key == "offset") {
      place.offset = MLC_TRY(ParseUnsigned(message, pair));
    } else if (pair.key == "length") {
      place.length = MLC_TRY(ParseUnsigned(message, pair));
    } else if (pair.key != "checksum" && pair.key != "basepath") {
      return InvalidArgument(What(message) + ": unknown external data key " + Quote(pair.key));
    }
    if (seen.size() > 8) return InvalidArgument(What(message) + ": too many external data keys");
  }
  return place;
}

struct ExternalBytes {
  MappedFileRef file;
  std::string_view bytes;
};

// The `size` bytes beside the model that hold the elements.
Result<ExternalBytes> ReadExternal(const TensorMessage& message, uint64_t size,
                                   ExternalFiles* files) {
  const ExternalPlace place = MLC_TRY(PlaceOf(message));
  if (files == nullptr) {
    return InvalidArgument(What(message) + ": external data is not allowed here");
  }
  Result<MappedFileRef> opened = files->Open(place.location);
  if (!opened.ok()) return opened.status().WithPrefix(What(message));
  const MappedFileRef file = *std::move(opened);
  const uint64_t available = file->bytes().size();
  const uint64_t length = place.length.value_or(size);
  if (length > available || place.offset > available - length) {
    return InvalidArgument(What(message) + ": external data runs past the end of " +
                           Quote(place.location));
  }
  if (length != size) {
    return InvalidArgument(What(message) + ": external data has " + std::to_string(length) +
                           " bytes, its shape needs " + std::to_string(size));
  }
  return ExternalBytes{file, file->bytes().substr(place.offset, size)};
}

// float_data and double_data: usually one chunk, which is used in place.
Result<TensorDataRef> ReadChunks(const TensorMessage& message, DType dtype, uint64_t size,
                                 const std::vector<std::string_view>& chunks,
                                 const std::shared_ptr<const void>& owner) {
  uint64_t total = 0;
  for (const std::string_view chunk : chunks) total += chunk.size();
  if (total != size) {
    return InvalidArgument(What(message) + " has " + std::to_string(total) +
                           " bytes of data, its shape needs " + std::to_string(size));
  }
  if (chunks.size() == 1) return Wrap(dtype, message.dims, chunks[0], owner);
  std::vector<std::byte> bytes(size);
  size_t at = 0;
  for (const std::string_view chunk : chunks) {
    std::memcpy(bytes.data() + at, chunk.data(), chunk.size());
    at += chunk.size();
  }
  return MakeTensorData(dtype, message.dims, std::move(bytes));
}

// int32_data and int64_data: one varint an element, truncated to its width.
Result<TensorDataRef> ReadInts(const TensorMessage& message, DType dtype, int64_t count) {
  if (static_cast<int64_t>(message.ints.size()) != count) {
    return InvalidArgument(What(message) + " has " + std::to_string(message.ints.size()) +
                           " elements of data, its shape needs " + std::to_string(count));
  }
  const size_t width = static_cast<size_t>(SizeOf(dtype));
  std::vector<std::byte> bytes(static_cast<size_t>(count) * width);
  for (size_t i = 0; i < message.ints.size(); ++i) {
    int64_t value = message.ints[i];
    if (dtype == DType::kBool) value = value != 0;
    std::memcpy(bytes.data() + i * width, &value, width);
  }
  return MakeTensorData(dtype, message.dims, std::move(bytes));
}

Status CheckRawSize(const TensorMessage& message, uint64_t size) {
  if (message.raw.size() == size) return Status();
  return InvalidArgument(What(message) + " has " + std::to_string(message.raw.size()) +
                         " bytes of data, its shape needs " + std::to_string(size));
}

// Small elements. In int32_data each entry is one byte of them.
Result<TensorDataRef> ReadLowBits(const TensorMessage& message, const LowBitType& type,
                                  int64_t count, ExternalFiles* files, SmallElements small) {
  const uint64_t size = static_cast<uint64_t>(PackedBytes(type, count));
  const auto read = small == SmallElements::kWiden ? WidenLowBits : UnpackLowBits;
  if (message.external) {
    const ExternalBytes stored = MLC_TRY(ReadExternal(message, size, files));
    return read(type, message.dims, stored.bytes);
  }
  if (message.has_raw) {
    MLC_TRY(CheckRawSize(message, size));
    return read(type, message.dims, message.raw);
  }
  std::string packed;
  for (const int64_t entry : message.ints) packed.push_back(static_cast<char>(entry));
  if (packed.size() == size) return read(type, message.dims, packed);
  return InvalidArgument(What(message) + " has data that does not fit its shape");
}

// Elements come from one field; two are ambiguous.
Status CheckOneSource(const TensorMessage& message) {
  const std::vector<std::string_view>& filled = message.filled;
  if (message.external && !filled.empty()) {
    return InvalidArgument(What(message) + " has its data in another file and in " +
                           std::string(filled[0]) + ": leave one of them out");
  }
  if (filled.size() < 2) return Status();
  return InvalidArgument(What(message) + " has its data twice, in " + std::string(filled[0]) +
                         " and in " + std::string(filled[1]) + ": leave one of them out");
}

}  // namespace

Result<DType> DTypeOf(int32_t onnx_type) {
  for (const auto& [number, dtype] : kWholeTypes) {
    if (number == onnx_type) return dtype;
  }
  if (const LowBitType* const small = FindLowBitType(onnx_type)) return small->dtype;
  constexpr int32_t kLastKnown = 26;
  if (onnx_type <= kUndefined || onnx_type > kLastKnown) {
    return InvalidArgument("element type " + std::to_string(onnx_type) + " does not exist");
  }
  return Unimplemented("element type " + std::to_string(onnx_type) +
                       (onnx_type == kString ? " (string)" : "") + " is not supported");
}

std::pair<int32_t, std::string> StoredForm(const TensorData& data) {
  if (const LowBitType* const small = FindLowBitType(data.dtype)) {
    return {small->onnx_type, PackLowBits(*small, data)};
  }
  int32_t number = kUndefined;
  for (const auto& [onnx_type, dtype] : kWholeTypes) {
    if (dtype == data.dtype) number = onnx_type;
  }
  return {number, {reinterpret_cast<const char*>(data.bytes.data()), data.bytes.size()}};
}

Result<int64_t> CheckedElements(const std::vector<int64_t>& dims, DType dtype,
                                const std::string& what) {
  if (dims.size() > static_cast<size_t>(graph::kMaxRank)) {
    return InvalidArgument(what + " has more than " + std::to_string(graph::kMaxRank) +
                           " dimensions");
  }
  // Zero dimensions count as one: the others must be sensible next to them too.
  int64_t bytes = SizeOf(dtype);
  int64_t count = 1;
  for (const int64_t dim : dims) {
    if (dim < 0)
      return InvalidArgument(what + " has the negative dimension " + std::to_string(dim));
    if (dim > kMaxValueBytes / bytes) {
      return InvalidArgument(what + " is too large: a value may take " +
                             std::to_string(kMaxValueBytes >> 30) + " GiB");
    }
    bytes *= std::max<int64_t>(dim, 1);
    count *= dim;
  }
  return count;
}

Result<TensorDataRef> ReadTensor(const TensorMessage& message,
                                 const std::shared_ptr<const void>& owner, ExternalFiles* files,
                                 SmallElements small) {
  const std::string what = What(message);
  const LowBitType* const narrow = FindLowBitType(message.data_type);
  Result<DType> type = narrow != nullptr ? narrow->wide : DTypeOf(message.data_type);
  if (!type.ok()) return type.status().WithPrefix(what);
  const DType dtype = *type;
  const int64_t count = MLC_TRY(CheckedElements(message.dims, dtype, what));
  const uint64_t size = static_cast<uint64_t>(count) * static_cast<uint64_t>(SizeOf(dtype));
  MLC_TRY(CheckOneSource(message));
  if (message.strings > 0) return InvalidArgument(what + " has text for numbers");
  if (narrow != nullptr) return ReadLowBits(message, *narrow, count, files, small);
  if (message.external) {
    const ExternalBytes stored = MLC_TRY(ReadExternal(message, size, files));
    return Wrap(dtype, message.dims, stored.bytes, stored.file);
  }
  if (message.has_raw) {
    MLC_TRY(CheckRawSize(message, size));
    return Wrap(dtype, message.dims, message.raw, owner);
  }
  if (dtype == DType::kF32) return ReadChunks(message, dtype, size, message.float_data, owner);
  if (dtype == DType::kF64) return ReadChunks(message, dtype, size, message.double_data, owner);
  return ReadInts(message, dtype, count);
}

Result<TensorDataRef> ReadTensorFile(const std::string& path) {
  const MappedFileRef file = MLC_TRY(OpenModelFile(path));
  const Result<TensorMessage> message = ParseTensor(file->bytes());
  if (!message.ok()) return message.status().WithPrefix("'" + path + "'");
  Result<TensorDataRef> tensor = ReadTensor(*message, file, nullptr, SmallElements::kKeep);
  if (!tensor.ok()) return tensor.status().WithPrefix("'" + path + "'");
  return tensor;
}

}  // namespace mlc::graph::onnx
