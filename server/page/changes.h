// The changes that forms of the page ask for, by the rules of the calls that make them.
// Thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "server/page/http.h"
#include "server/page/source.h"
#include "server/security/caller.h"

namespace mlc::server::page {

inline constexpr std::string_view kCancelJob = "/mlc.proto.Tuner/CancelJob";
inline constexpr std::string_view kDrainWorker = "/mlc.proto.Workers/DrainWorker";
inline constexpr std::string_view kQuarantineWorker = "/mlc.proto.Workers/QuarantineWorker";
inline constexpr std::string_view kReleaseWorker = "/mlc.proto.Workers/ReleaseWorker";

// What the request would change, in words: "drain of w1".
std::string SubjectOf(const HttpRequest& request);
// Makes the change; returns the path of the page that shows it. NOT_FOUND for a path that changes
// nothing, PERMISSION_DENIED for a role that may not, else the errors of the call.
Result<std::string> MakeChange(PageSource& source, const HttpRequest& request,
                               const Caller& caller);

}  // namespace mlc::server::page
