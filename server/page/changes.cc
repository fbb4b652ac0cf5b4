#include "server/page/changes.h"

#include "server/page/topics.h"
#include "server/page/views.h"
#include "server/security/policy.h"

namespace mlc::server::page {
namespace {

struct Change {
  std::string_view path;
  std::string_view rpc;
  AdminHoldKind hold;  // of a worker
};

constexpr std::string_view kCancel = "/cancel";
constexpr Change kOfWorkers[] = {
    {"/drain", kDrainWorker, AdminHoldKind::kDrain},
    {"/quarantine", kQuarantineWorker, AdminHoldKind::kQuarantine},
    {"/release", kReleaseWorker, AdminHoldKind::kNone},
};

}  // namespace

std::string SubjectOf(const HttpRequest& request) {
  return request.path.substr(1) + " of " +
         request.Field(request.path == kCancel ? "job" : "worker");
}

Result<std::string> MakeChange(PageSource& source, const HttpRequest& request,
                               const Caller& caller) {
  if (request.path == kCancel) {
    MLC_TRY(Check(caller, kCancelJob));
    const std::string job = request.Field("job");
    if (!IsJobId(job)) return InvalidArgument("a job has 32 hexadecimal digits");
    MLC_TRY(source.Cancel(job, caller));
    return "/jobs/" + job;
  }
  for (const Change& change : kOfWorkers) {
    if (request.path != change.path) continue;
    MLC_TRY(Check(caller, change.rpc));
    const std::string worker = request.Field("worker");
    MLC_TRY(source.SetAdminHold(worker, change.hold, Printable(request.Field("reason"))));
    return "/worker?name=" + UrlEncoded(worker);
  }
  return NotFound("there is no " + Printable(request.path));
}

}  // namespace mlc::server::page
