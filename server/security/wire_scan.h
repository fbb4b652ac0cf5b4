// Estimates the memory of a message before it is parsed: an empty nested message takes two bytes on
// the wire and about 90 bytes in memory. Thread-safe.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <cstdint>

#include "base/status.h"

namespace google::protobuf {
class Descriptor;
}

namespace mlc::server {

// Counts the fields of a message of this type and of all messages inside it. Each element of a
// repeated field counts; eight bytes of packed numbers count as one field. INVALID_ARGUMENT if the
// bytes are not such a message, or as soon as the count exceeds `most`.
Result<int64_t> CountFields(const grpc::ByteBuffer& wire, const google::protobuf::Descriptor& type,
                            int64_t most);

}  // namespace mlc::server
