// Admits calls: checks size, number of fields and memory before a request is parsed; access control
// has checked the role before. Thread-safe.
#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <functional>
#include <memory>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/status.h"
#include "server/api/call_threads.h"
#include "server/security/access_control.h"
#include "server/security/call_load.h"

namespace google::protobuf {
class Message;
class MessageLite;
}  // namespace google::protobuf

namespace mlc::server {

// A unary call in progress and the memory that it reserved. Deletes itself after gRPC has sent the
// answer.
class UnaryCall : public grpc::ServerUnaryReactor {
 public:
  UnaryCall(grpc::CallbackServerContext& context, Caller caller, const Clock& clock,
            grpc::ByteBuffer* reply)
      : context_(context), caller_(std::move(caller)), clock_(clock), reply_(reply) {}

  const Caller& caller() const { return caller_; }
  // Call one of them once. The object may be deleted when it returns.
  void Fail(const Status& status);
  void Send(const google::protobuf::MessageLite& reply);
  template <typename Message>
  void Answer(const Result<Message>& result) {
    result.ok() ? Send(*result) : Fail(result.status());
  }
  void OnDone() override { delete this; }

 private:
  friend class CallAdmission;
  void End(const grpc::Status& status);

  grpc::CallbackServerContext& context_;
  const Caller caller_;
  const Clock& clock_;
  grpc::ByteBuffer* const reply_;
  std::unique_ptr<CallLoad::Ticket> ticket_;
};

class CallAdmission {
 public:
  // All must outlive every call.
  CallAdmission(const AccessControl& access, CallLoad& load, const Clock& clock)
      : access_(access), load_(load), clock_(clock) {}

  const AccessControl& access() const { return access_; }

  // Parses the request and lets `act(request, call)` answer it: on one of `threads`, or immediately
  // if `here` allows it and the request is small.
  enum class Where : uint8_t { kThreads, kHereIfSmall };
  template <typename Request, typename Act>
  grpc::ServerUnaryReactor* Take(grpc::CallbackServerContext* context, std::string_view rpc,
                                 const grpc::ByteBuffer* wire, grpc::ByteBuffer* reply,
                                 CallThreads& threads, Where where, Act act) const {
    const Result<Caller> caller = access_.CallerOf(*context);
    auto* call = new UnaryCall(*context, caller.ok() ? *caller : Caller(), clock_, reply);
    const Status admitted = Admit(*context, rpc, *wire, caller, *call);
    if (!admitted.ok()) {
      call->Fail(admitted);
      return call;
    }
    auto parse_and_act = [rpc, wire, call, act = std::move(act)] {
      Request request;
      const Status parsed = Parse(rpc, *wire, *call->ticket_, request);
      parsed.ok() ? act(request, *call) : call->Fail(parsed);
    };
    if (where == Where::kHereIfSmall && wire->Length() <= kSmall) {
      parse_and_act();
    } else {
      threads.Run(std::move(parse_and_act));
    }
    return call;
  }

  // Admits the single, small request of a server-streaming call.
  template <typename Request>
  Result<std::unique_ptr<CallLoad::Ticket>> TakeStream(const grpc::CallbackServerContext& context,
                                                       std::string_view rpc,
                                                       const grpc::ByteBuffer& wire,
                                                       Request& request) const {
    auto ticket = MLC_TRY(Reserve(context, rpc, wire, access_.CallerOf(context)));
    MLC_TRY(Parse(rpc, wire, *ticket, request));
    return ticket;
  }

  static grpc::ByteBuffer ToWire(const google::protobuf::MessageLite& message);

 private:
  // A longer request would occupy a thread of gRPC for too long.
  static constexpr size_t kSmall = size_t{32} << 10;

  Result<std::unique_ptr<CallLoad::Ticket>> Reserve(const grpc::CallbackServerContext& context,
                                                    std::string_view rpc,
                                                    const grpc::ByteBuffer& wire,
                                                    const Result<Caller>& caller) const;
  Status Admit(const grpc::CallbackServerContext& context, std::string_view rpc,
               const grpc::ByteBuffer& wire, const Result<Caller>& caller, UnaryCall& call) const;
  static Status Parse(std::string_view rpc, const grpc::ByteBuffer& wire, CallLoad::Ticket& ticket,
                      google::protobuf::Message& request);

  const AccessControl& access_;
  CallLoad& load_;
  const Clock& clock_;
};

}  // namespace mlc::server
