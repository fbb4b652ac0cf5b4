#include "server/security/access_control.h"

#include <grpc/grpc_security_constants.h>

namespace mlc::server {

void AccessControl::Received(const grpc::ServerContextBase& context, size_t bytes) const {
  if (!observer_.received) return;
  const std::shared_ptr<const grpc::AuthContext> peer = context.auth_context();
  const void* connection = peer == nullptr ? nullptr : ConnectionOf(*peer);
  observer_.received(context.peer(), connection, bytes);
}

const void* ConnectionOf(const grpc::AuthContext& context) {
  const std::vector<grpc::string_ref> values =
      context.FindPropertyValues(GRPC_TRANSPORT_SECURITY_TYPE_PROPERTY_NAME);
  return values.empty() ? nullptr : values.front().data();
}

}  // namespace mlc::server
