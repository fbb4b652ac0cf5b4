// A bounded reader of the protobuf wire format: one message's fields in order, without copies.
// Unknown fields (groups included) are skipped; every length is checked against the bytes at hand.
// Borrows its input; not thread-safe.
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>

#include "base/status.h"

namespace mlc::graph::onnx {

enum class WireType : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : rest_(bytes) {}

  // Moves to the next field. False at the end of the message or at an error (see status()).
  bool Next();
  const Status& status() const { return status_; }

  uint32_t field() const { return field_; }
  WireType type() const { return type_; }
  bool IsBytes() const { return type_ == WireType::kBytes; }
  bool IsNumber() const { return type_ == WireType::kVarint; }
  // The value of a varint or fixed field.
  uint64_t number() const { return number_; }
  int64_t Signed() const { return static_cast<int64_t>(number_); }
  float Float() const { return std::bit_cast<float>(static_cast<uint32_t>(number_)); }
  // The value of a length-delimited field.
  std::string_view bytes() const { return bytes_; }

  // Reads one varint from the front of `bytes`; false if it is cut off or longer than 10 bytes.
  static bool ReadVarint(std::string_view& bytes, uint64_t& value);

 private:
  bool ReadValue(uint32_t wire_type);
  bool ReadFixed(size_t size);
  bool SkipGroup(uint32_t field);
  bool Fail(std::string_view what);

  std::string_view rest_;
  std::string_view bytes_;
  uint64_t number_ = 0;
  uint32_t field_ = 0;
  WireType type_ = WireType::kVarint;
  Status status_;
};

// Calls visit(reader) for every field of a message, in order. The first error ends it: one of the
// visitor's or of the bytes.
template <typename Visitor>
Status ForEachField(std::string_view message, const Visitor& visit) {
  WireReader reader(message);
  while (reader.Next()) MLC_TRY(visit(reader));
  return reader.status();
}

// The same for the length-delimited fields alone, as visit(field number, bytes).
template <typename Visitor>
Status ForEachBytesField(std::string_view message, const Visitor& visit) {
  return ForEachField(message, [&](const WireReader& reader) {
    return reader.IsBytes() ? visit(reader.field(), reader.bytes()) : Status();
  });
}

}  // namespace mlc::graph::onnx
