#include "server/security/stream_ends.h"

#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>

#include <string_view>

namespace mlc::server {
namespace {

using grpc::experimental::InterceptionHookPoints;
using grpc::experimental::ServerRpcInfo;

// Null, or a buffer without content, of a call that was cancelled before its message came.
bool HasMessage(const ServerRpcInfo& rpc, const void* message) {
  if (message == nullptr || !std::string_view(rpc.method()).starts_with("/grpc.health.")) {
    return message != nullptr;
  }
  // The health service parses its requests itself.
  return static_cast<const grpc::ByteBuffer*>(message)->Valid();
}

// May outlive the stream's context, which is there until the status has been sent.
class BuiltinCall : public grpc::experimental::Interceptor {
 public:
  BuiltinCall(ServerRpcInfo& rpc, const AccessControl& access) : rpc_(rpc), access_(access) {}

  // A cancellation comes through here, too: on the thread that reviews the calls, which must not
  // touch them.
  void Intercept(grpc::experimental::InterceptorBatchMethods* methods) override {
    const bool stream = rpc_.type() != ServerRpcInfo::Type::UNARY;
    if (stream &&
        methods->QueryInterceptionHookPoint(InterceptionHookPoints::POST_RECV_INITIAL_METADATA)) {
      grpc::ServerContextBase* context = rpc_.server_context();
      call_ = access_.Follow(*context, rpc_.method(),
                             [context](const Status&) { context->TryCancel(); });
    }
    if (!received_ &&
        methods->QueryInterceptionHookPoint(InterceptionHookPoints::POST_RECV_MESSAGE) &&
        HasMessage(rpc_, methods->GetRecvMessage())) {
      received_ = true;
      access_.Received(*rpc_.server_context(), 0);
    }
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_STATUS)) call_.reset();
    methods->Proceed();
  }

 private:
  ServerRpcInfo& rpc_;
  const AccessControl& access_;
  std::unique_ptr<OpenCall> call_;
  bool received_ = false;
};

class StreamEnds : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  explicit StreamEnds(const AccessControl& access) : access_(access) {}

  grpc::experimental::Interceptor* CreateServerInterceptor(ServerRpcInfo* rpc) override {
    const bool builtin = std::string_view(rpc->method()).starts_with("/grpc.");
    return builtin ? new BuiltinCall(*rpc, access_) : nullptr;
  }

 private:
  const AccessControl& access_;
};

}  // namespace

std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> MakeStreamEnds(
    const AccessControl& access) {
  return std::make_unique<StreamEnds>(access);
}

}  // namespace mlc::server
