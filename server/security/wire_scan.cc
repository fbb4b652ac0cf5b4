#include "server/security/wire_scan.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include <string>

namespace mlc::server {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::internal::WireFormatLite;

// Ours are three deep.
constexpr int kMostDepth = 16;
constexpr int kPackedBytes = 8;  // parsed, they take what one field takes

class Scan {
 public:
  Scan(google::protobuf::io::CodedInputStream& in, int64_t most) : in_(in), most_(most) {}

  // Up to the end, or to the limit that was pushed.
  bool Message(const Descriptor* type, int depth) {
    while (const uint32_t tag = in_.ReadTag()) {
      if (++count_ > most_) return false;
      if (!Field(type, tag, depth)) return false;
    }
    return in_.ConsumedEntireMessage();
  }
  int64_t count() const { return count_; }

 private:
  bool Field(const Descriptor* type, uint32_t tag, int depth) {
    switch (WireFormatLite::GetTagWireType(tag)) {
      case WireFormatLite::WIRETYPE_VARINT: {
        uint64_t value = 0;
        return in_.ReadVarint64(&value);
      }
      case WireFormatLite::WIRETYPE_FIXED64:
        return in_.Skip(8);
      case WireFormatLite::WIRETYPE_FIXED32:
        return in_.Skip(4);
      case WireFormatLite::WIRETYPE_LENGTH_DELIMITED:
        return Delimited(type->FindFieldByNumber(WireFormatLite::GetTagFieldNumber(tag)), depth);
      default:
        return false;  // groups: no version of ours has any
    }
  }

  bool Delimited(const FieldDescriptor* field, int depth) {
    int size = 0;
    if (!in_.ReadVarintSizeAsInt(&size)) return false;
    if (field != nullptr && field->type() == FieldDescriptor::TYPE_MESSAGE) {
      if (depth >= kMostDepth) return false;
      const auto limit = in_.PushLimit(size);
      // Neither longer than what is around it, nor than what came.
      const bool good = in_.BytesUntilLimit() == size &&
                        Message(field->message_type(), depth + 1) && in_.BytesUntilLimit() == 0;
      in_.PopLimit(limit);
      return good;
    }
    if (field != nullptr && field->is_packable()) count_ += size / kPackedBytes;
    return count_ <= most_ && in_.Skip(size);
  }

  google::protobuf::io::CodedInputStream& in_;
  const int64_t most_;
  int64_t count_ = 0;
};

}  // namespace

Result<int64_t> CountFields(const grpc::ByteBuffer& wire, const Descriptor& type, int64_t most) {
  grpc::ByteBuffer same(wire);  // shares the bytes
  grpc::ProtoBufferReader bytes(&same);
  if (!bytes.status().ok()) return InvalidArgument("the message cannot be read");
  google::protobuf::io::CodedInputStream in(&bytes);
  Scan scan(in, most);
  if (scan.Message(&type, 0)) return scan.count();
  if (scan.count() > most) {
    return InvalidArgument("the message has more than " + std::to_string(most) +
                           " fields: ask for less in one call");
  }
  return InvalidArgument("the message is not a " + type.full_name());
}

}  // namespace mlc::server
