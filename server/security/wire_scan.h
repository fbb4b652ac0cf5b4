// What a message will cost, seen before it is parsed: an empty message inside another takes two
// bytes on the wire and some 90 in memory. Thread-safe.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <cstdint>

#include "base/status.h"

namespace google::protobuf {
class Descriptor;
}

namespace mlc::server {

// Fields of the message of that type and of all messages inside it, each element of a repeated one;
// eight bytes of packed numbers count as one. INVALID_ARGUMENT for what is no such message, and as
// soon as there are more than `most`.
Result<int64_t> CountFields(const grpc::ByteBuffer& wire, const google::protobuf::Descriptor& type,
                            int64_t most);

}  // namespace mlc::server
