#include "server/api/call_admission.h"

#include <google/protobuf/message.h>
#include <grpcpp/impl/codegen/proto_utils.h>

#include <string>

#include "base/wire/grpc_status.h"
#include "server/security/policy.h"
#include "server/security/wire_scan.h"

namespace mlc::server {
namespace {

// What gRPC keeps of a call besides its messages.
constexpr size_t kBytesOfCall = 4096;
// An empty message within another, with its place in the list; a short text takes half of it.
constexpr size_t kBytesOfField = 96;

}  // namespace

void UnaryCall::Fail(const Status& status) { End(ToGrpc(status)); }

void UnaryCall::Send(const google::protobuf::MessageLite& reply) {
  const size_t bytes = reply.ByteSizeLong();
  if (const Status room = ticket_->Resize(kBytesOfCall + bytes); !room.ok()) return Fail(room);
  *reply_ = CallAdmission::ToWire(reply);
  End(grpc::Status::OK);
}

void UnaryCall::End(const grpc::Status& status) {
  if (ticket_ != nullptr) ticket_->Answered(clock_.SteadyMs(), [this] { context_.TryCancel(); });
  Finish(status);
}

grpc::ByteBuffer CallAdmission::ToWire(const google::protobuf::MessageLite& message) {
  grpc::Slice slice(message.ByteSizeLong());
  message.SerializeWithCachedSizesToArray(const_cast<uint8_t*>(slice.begin()));
  return grpc::ByteBuffer(&slice, 1);
}

Result<std::unique_ptr<CallLoad::Ticket>> CallAdmission::Reserve(
    const grpc::CallbackServerContext& context, std::string_view rpc, const grpc::ByteBuffer& wire,
    const Result<Caller>& caller) const {
  // Cancelled before its message came. gRPC admits such a call, too.
  if (!wire.Valid()) return InvalidArgument("a call without a request");
  access_.Received(context, wire.Length());
  const Rule* rule = RuleOf(rpc);
  if (wire.Length() > rule->bytes) {
    return InvalidArgument("a request of " + std::to_string(wire.Length()) + " bytes: " +
                           std::string(rpc) + " takes at most " + std::to_string(rule->bytes));
  }
  if (!caller.ok()) return caller.status();
  // The message as it came, and its texts once more.
  return load_.Take(*caller, kBytesOfCall + 2 * wire.Length());
}

Status CallAdmission::Admit(const grpc::CallbackServerContext& context, std::string_view rpc,
                            const grpc::ByteBuffer& wire, const Result<Caller>& caller,
                            UnaryCall& call) const {
  call.ticket_ = MLC_TRY(Reserve(context, rpc, wire, caller));
  return Status();
}

Status CallAdmission::Parse(std::string_view rpc, const grpc::ByteBuffer& wire,
                            CallLoad::Ticket& ticket, google::protobuf::Message& request) {
  const int64_t fields = MLC_TRY(CountFields(wire, *request.GetDescriptor(), RuleOf(rpc)->fields));
  MLC_TRY(ticket.Resize(kBytesOfCall + 2 * wire.Length() +
                        kBytesOfField * static_cast<size_t>(fields)));
  grpc::ByteBuffer same(wire);  // shares the bytes
  const grpc::Status parsed =
      grpc::SerializationTraits<google::protobuf::Message>::Deserialize(&same, &request);
  return parsed.ok() ? Status() : InvalidArgument("the request cannot be read");
}

}  // namespace mlc::server
