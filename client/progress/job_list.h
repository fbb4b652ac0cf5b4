// The jobs of a server as text. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "proto/tuner.pb.h"

namespace mlc::client {

// A table with a header. The newest job is last, next to the prompt. `now_us`: microseconds since
// 1970.
std::string JobsTable(const proto::ListJobsReply& jobs, int64_t now_us);
// The job whose id begins with `text`, at least four digits. NOT_FOUND if there is none,
// INVALID_ARGUMENT if there are several or the text cannot begin an id.
Result<std::string> FindJob(const proto::ListJobsReply& jobs, const std::string& text);

}  // namespace mlc::client
