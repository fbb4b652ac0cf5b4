#include "compiler/graph/onnx/packed.h"

#include <bit>
#include <string_view>

namespace mlc::graph::onnx {

Status AppendInts(const WireReader& reader, std::vector<int64_t>& ints, size_t limit) {
  if (reader.IsNumber()) {
    ints.push_back(reader.Signed());
  } else if (reader.IsBytes()) {
    for (std::string_view rest = reader.bytes(); !rest.empty() && ints.size() <= limit;) {
      uint64_t value = 0;
      if (!WireReader::ReadVarint(rest, value)) {
        return InvalidArgument("the file is not a valid ONNX model: a packed number is cut off");
      }
      ints.push_back(static_cast<int64_t>(value));
    }
  }
  return Status();
}

Status AppendFloats(const WireReader& reader, std::vector<float>& floats) {
  if (reader.type() == WireType::kFixed32) {
    floats.push_back(reader.Float());
  } else if (reader.IsBytes()) {
    if (reader.bytes().size() % 4 != 0) {
      return InvalidArgument("the file is not a valid ONNX model: packed floats are cut off");
    }
    for (size_t i = 0; i < reader.bytes().size(); i += 4) {
      uint32_t bits = 0;
      for (size_t k = 0; k < 4; ++k) {
        bits |= static_cast<uint32_t>(static_cast<uint8_t>(reader.bytes()[i + k])) << (8 * k);
      }
      floats.push_back(std::bit_cast<float>(bits));
    }
  }
  return Status();
}

}  // namespace mlc::graph::onnx
