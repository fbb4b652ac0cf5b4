// Asks the health service of a server, whose messages are too small for a library of their own.
#pragma once

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>
#include <vector>

namespace mlc::server {

// grpc.health.v1: 1 serving, 2 not serving; 0 if the answer is no such message.
inline int HealthOf(const std::shared_ptr<grpc::Channel>& channel, const std::string& service) {
  const std::string text =
      service.empty() ? "" : "\x0a" + std::string(1, static_cast<char>(service.size())) + service;
  const grpc::Slice slice(text);
  const grpc::ByteBuffer request(&slice, 1);
  grpc::TemplatedGenericStub<grpc::ByteBuffer, grpc::ByteBuffer> stub(channel);
  grpc::ClientContext context;
  context.set_wait_for_ready(true);
  grpc::CompletionQueue queue;
  grpc::ByteBuffer reply;
  grpc::Status status;
  auto call = stub.PrepareUnaryCall(&context, "/grpc.health.v1.Health/Check", request, &queue);
  call->StartCall();
  call->Finish(&reply, &status, nullptr);
  void* tag;
  bool ok;
  (void)queue.Next(&tag, &ok);
  std::vector<grpc::Slice> slices;
  if (!status.ok() || !reply.Dump(&slices).ok() || slices.empty()) return 0;
  return slices[0].size() == 2 ? slices[0].begin()[1] : 0;
}

}  // namespace mlc::server
