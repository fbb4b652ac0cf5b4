// The workers of a server for people. Pure.
#pragma once

#include <string>

#include "proto/worker.pb.h"

namespace mlc::client {

// A table with a head, in the order of names.
std::string WorkersTable(const proto::ListWorkersReply& workers);

}  // namespace mlc::client
