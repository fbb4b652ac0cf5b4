#include "server/security/stream_ends.h"

#include <grpcpp/server_context.h>

#include <string_view>

namespace mlc::server {
namespace {

using grpc::experimental::InterceptionHookPoints;
using grpc::experimental::ServerRpcInfo;

// May outlive the stream's context, which is there until the status has been sent.
class StreamEnd : public grpc::experimental::Interceptor {
 public:
  StreamEnd(ServerRpcInfo& rpc, const AccessControl& access) : rpc_(rpc), access_(access) {}

  // A cancellation comes through here, too: on the thread that reviews the calls, which must not
  // touch them.
  void Intercept(grpc::experimental::InterceptorBatchMethods* methods) override {
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::POST_RECV_INITIAL_METADATA)) {
      grpc::ServerContextBase* context = rpc_.server_context();
      call_ = access_.Follow(*context, rpc_.method(),
                             [context](const Status&) { context->TryCancel(); });
    }
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_STATUS)) call_.reset();
    methods->Proceed();
  }

 private:
  ServerRpcInfo& rpc_;
  const AccessControl& access_;
  std::unique_ptr<OpenCall> call_;
};

class StreamEnds : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  explicit StreamEnds(const AccessControl& access) : access_(access) {}

  grpc::experimental::Interceptor* CreateServerInterceptor(ServerRpcInfo* rpc) override {
    // Every call that was let in comes through here; messages are told of where they are read.
    access_.Received(*rpc->server_context(), 0);
    const bool builtin = std::string_view(rpc->method()).starts_with("/grpc.");
    if (!builtin || rpc->type() == ServerRpcInfo::Type::UNARY) return nullptr;
    return new StreamEnd(*rpc, access_);
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
