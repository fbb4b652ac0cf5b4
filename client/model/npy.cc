#include "client/model/npy.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace mlc::client {

namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
// NumPy writes some 120 bytes, and reads 10,000 at most.
constexpr uint32_t kLongestHeader = 1 << 16;

constexpr std::pair<std::string_view, DType> kDescriptions[] = {
    {"<f4", DType::kF32},  {"<f8", DType::kF64}, {"<f2", DType::kF16}, {"|i1", DType::kI8},
    {"|u1", DType::kU8},   {"<i2", DType::kI16}, {"<i4", DType::kI32}, {"<i8", DType::kI64},
    {"|b1", DType::kBool}, {"<u2", DType::kU16}, {"<u4", DType::kU32}, {"<u8", DType::kU64}};

// The text of `key` in the header, from behind its colon.
std::string_view Field(std::string_view header, std::string_view key) {
  const size_t at = header.find("'" + std::string(key) + "':");
  if (at == std::string_view::npos) return {};
  std::string_view rest = header.substr(at + key.size() + 3);
  while (rest.starts_with(' ')) rest.remove_prefix(1);
  return rest;
}

Result<std::vector<int64_t>> ParseShape(std::string_view text) {
  if (!text.starts_with('(')) return InvalidArgument("the header has no shape");
  std::vector<int64_t> dims;
  int64_t value = -1;
  for (const char c : text.substr(1)) {
    if (c >= '0' && c <= '9') {
      value = (value < 0 ? 0 : value) * 10 + (c - '0');
      if (value > int64_t{1} << 40) return InvalidArgument("a dimension is too large");
    } else if (c == ',' || c == ')') {
      if (value >= 0) dims.push_back(value);
      value = -1;
      if (c == ')') return dims;
    } else if (c != ' ') {
      break;
    }
  }
  return InvalidArgument("the header's shape is broken");
}

Result<DType> ParseDescription(std::string_view text) {
  for (const auto& [description, dtype] : kDescriptions) {
    if (text.starts_with("'" + std::string(description) + "'")) return dtype;
  }
  return InvalidArgument("element type " + std::string(text.substr(0, 6)) + " is not supported");
}

}  // namespace

Result<graph::TensorDataRef> ParseNpy(std::string_view bytes, std::shared_ptr<const void> owner) {
  if (!bytes.starts_with(kMagic) || bytes.size() < 12) return InvalidArgument("not a .npy file");
  const bool version1 = bytes[6] == 1;
  uint32_t header_size = 0;
  std::memcpy(&header_size, bytes.data() + 8, version1 ? 2 : 4);
  const size_t header_at = version1 ? 10 : 12;
  if (header_size > bytes.size() - header_at) return InvalidArgument("the header is cut short");
  if (header_size > kLongestHeader) return InvalidArgument("the header is too long");
  const std::string_view header = bytes.substr(header_at, header_size);
  const std::string_view data = bytes.substr(header_at + header_size);
  const DType dtype = MLC_TRY(ParseDescription(Field(header, "descr")));
  if (!Field(header, "fortran_order").starts_with("False")) {
    return InvalidArgument("arrays in Fortran order are not supported: save a C-ordered copy");
  }
  std::vector<int64_t> dims = MLC_TRY(ParseShape(Field(header, "shape")));
  const bool is_empty = std::ranges::find(dims, 0) != dims.end();
  size_t size = is_empty ? 0 : static_cast<size_t>(SizeOf(dtype));
  for (const int64_t dim : dims) {
    if (!is_empty && size > data.size() / static_cast<size_t>(dim) + 1) {
      return InvalidArgument("the data are shorter than the shape");
    }
    size *= static_cast<size_t>(dim);
  }
  if (size != data.size()) return InvalidArgument("the data do not have the size of the shape");
  return graph::TensorDataRef(std::make_shared<const graph::TensorData>(graph::TensorData{
      dtype, std::move(dims), std::as_bytes(std::span(data.data(), size)), std::move(owner)}));
}

}  // namespace mlc::client
