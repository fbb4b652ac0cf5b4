#include "base/wire/grpc_status.h"

namespace mlc::server {

grpc::Status ToGrpc(const Status& status) {
  if (status.ok()) return grpc::Status::OK;
  const bool is_ours = status.code() == StatusCode::kUnwritable;
  const StatusCode code = is_ours ? StatusCode::kInternal : status.code();
  return {static_cast<grpc::StatusCode>(code), status.message()};
}

Status FromGrpc(const grpc::Status& status) {
  if (status.ok()) return Status();
  return {static_cast<StatusCode>(status.error_code()), status.error_message()};
}

}  // namespace mlc::server
