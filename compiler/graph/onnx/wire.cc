#include "compiler/graph/onnx/wire.h"

#include <string>

namespace mlc::graph::onnx {
namespace {

constexpr uint32_t kStartGroup = 3;
constexpr uint32_t kEndGroup = 4;
constexpr int kMaxGroupDepth = 32;

}  // namespace

bool WireReader::ReadVarint(std::string_view& bytes, uint64_t& value) {
  value = 0;
  for (size_t i = 0; i < bytes.size() && i < 10; ++i) {
    const uint64_t byte = static_cast<uint8_t>(bytes[i]);
    value |= (byte & 0x7f) << (7 * i);
    if (byte < 0x80) {
      bytes.remove_prefix(i + 1);
      return true;
    }
  }
  return false;
}

bool WireReader::Fail(std::string_view what) {
  status_ = InvalidArgument("the file is not a valid ONNX model: " + std::string(what));
  rest_ = {};
  return false;
}

bool WireReader::Next() {
  while (!rest_.empty()) {
    uint64_t tag = 0;
    if (!ReadVarint(rest_, tag)) return Fail("a field's tag is cut off");
    if ((tag >> 3) == 0 || (tag >> 3) > 0x1fffffff) return Fail("a field's number is out of range");
    field_ = static_cast<uint32_t>(tag >> 3);
    const uint32_t wire_type = static_cast<uint32_t>(tag & 7);
    if (wire_type != kStartGroup) return ReadValue(wire_type);
    if (!SkipGroup(field_)) return false;
  }
  return false;
}

bool WireReader::ReadFixed(size_t size) {
  if (rest_.size() < size) return Fail("a fixed-size field is cut off");
  number_ = 0;
  for (size_t i = 0; i < size; ++i) {
    number_ |= static_cast<uint64_t>(static_cast<uint8_t>(rest_[i])) << (8 * i);
  }
  rest_.remove_prefix(size);
  return true;
}

bool WireReader::ReadValue(uint32_t wire_type) {
  switch (wire_type) {
    case 0:
      type_ = WireType::kVarint;
      if (!ReadVarint(rest_, number_)) return Fail("a number is cut off");
      return true;
    case 1:
      type_ = WireType::kFixed64;
      return ReadFixed(8);
    case 5:
      type_ = WireType::kFixed32;
      return ReadFixed(4);
    case 2: {
      type_ = WireType::kBytes;
      uint64_t length = 0;
      if (!ReadVarint(rest_, length)) return Fail("a length is cut off");
      if (length > rest_.size()) return Fail("a length runs past the end of the file");
      bytes_ = rest_.substr(0, length);
      rest_.remove_prefix(length);
      return true;
    }
    default:
      return Fail("a field has an unknown wire type");
  }
}

bool WireReader::SkipGroup(uint32_t field) {
  uint32_t open[kMaxGroupDepth] = {field};
  int depth = 1;
  while (depth > 0) {
    uint64_t tag = 0;
    if (!ReadVarint(rest_, tag)) return Fail("a group is not closed");
    const uint32_t inner = static_cast<uint32_t>(tag >> 3);
    const uint32_t wire_type = static_cast<uint32_t>(tag & 7);
    if (inner == 0) return Fail("a field's number is out of range");
    if (wire_type == kStartGroup) {
      if (depth == kMaxGroupDepth) return Fail("groups are nested too deeply");
      open[depth++] = inner;
    } else if (wire_type == kEndGroup) {
      if (open[--depth] != inner) return Fail("a group is closed by another one");
    } else if (!ReadValue(wire_type)) {
      return false;
    }
  }
  return true;
}

}  // namespace mlc::graph::onnx
