// The workers of a server for people and programs. Pure.
#pragma once

#include <string>

#include "proto/worker.pb.h"

namespace mlc::client {

// A table with a head, in the order of names.
std::string WorkersTable(const proto::ListWorkersReply& workers);
// One JSON document with "schema": "mlc.workers/1". Fields are added, never renamed.
std::string WorkersJson(const proto::ListWorkersReply& workers);

}  // namespace mlc::client
