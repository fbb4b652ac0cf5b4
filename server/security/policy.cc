#include "server/security/policy.h"

#include <algorithm>
#include <array>
#include <string>

namespace mlc::server {
namespace {

constexpr std::array kPolicy = {
    Rule{"/mlc.proto.Tuner/SubmitJob", Role::kSubmit},
    Rule{"/mlc.proto.Tuner/SubmitRawCuda", Role::kAdmin},  // brings code for workers to run
    Rule{"/mlc.proto.Tuner/CancelJob", Role::kSubmit},  // one's own; the handler looks whose it is
    Rule{"/mlc.proto.Tuner/WatchJob", Role::kRead},
    Rule{"/mlc.proto.Tuner/GetJob", Role::kRead},
    Rule{"/mlc.proto.Tuner/ListJobs", Role::kRead},
    Rule{"/mlc.proto.Tuner/Best", Role::kRead},
    Rule{"/mlc.proto.Workers/Synchronize", Role::kWork},  // under its own name: the handler looks
    Rule{"/mlc.proto.Workers/Attend", Role::kWork},
    Rule{"/mlc.proto.Workers/ListWorkers", Role::kRead},
    Rule{"/mlc.proto.Workers/DrainWorker", Role::kAdmin},
    Rule{"/mlc.proto.Workers/QuarantineWorker", Role::kAdmin},
    Rule{"/mlc.proto.Workers/ReleaseWorker", Role::kAdmin},
    Rule{"/grpc.health.v1.Health/Check", Role::kRead, true},
    Rule{"/grpc.health.v1.Health/Watch", Role::kRead, true},
    Rule{"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", Role::kAdmin},
};

}  // namespace

std::span<const Rule> Policy() { return kPolicy; }

Status Check(const Caller& caller, std::string_view rpc) {
  if (caller.local) return Status();
  const auto rule =
      std::find_if(kPolicy.begin(), kPolicy.end(), [&](const Rule& one) { return one.rpc == rpc; });
  if (rule == kPolicy.end()) {
    return {StatusCode::kPermissionDenied, "nobody may call " + std::string(rpc)};
  }
  if (rule->anyone || caller.Has(rule->role)) return Status();
  return {StatusCode::kPermissionDenied, caller.ToText() + " may not call " + std::string(rpc) +
                                             ": it takes the role " +
                                             std::string(ToText(rule->role))};
}

}  // namespace mlc::server
