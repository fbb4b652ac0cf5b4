// The jobs of a server for people. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "proto/tuner.pb.h"

namespace mlc::client {

// A table with a head; the newest job is last, near the prompt. `now_us`: microseconds since 1970.
std::string JobsTable(const proto::ListJobsReply& jobs, int64_t now_us);
// The only job whose id begins with `text`, which has at least four digits. NOT_FOUND for none,
// INVALID_ARGUMENT for several or for a text that cannot begin an id.
Result<std::string> FindJob(const proto::ListJobsReply& jobs, const std::string& text);

}  // namespace mlc::client
