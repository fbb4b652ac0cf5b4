// The workers of a server as text. Pure.
#pragma once

#include <string>

#include "proto/worker.pb.h"

namespace mlc::client {

// A table with a header, in the order of names.
std::string WorkersTable(const proto::ListWorkersReply& workers);

}  // namespace mlc::client
