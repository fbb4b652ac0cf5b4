#include "server/security/policy.h"

#include <algorithm>
#include <array>
#include <string>

namespace mlc::server {
namespace {

// 10,000 tasks in 16 variants are 80,000 fields, or some more from a program that packs no numbers.
constexpr size_t kJobBytes = size_t{16} << 20;
constexpr int64_t kJobFields = 300'000;
// A source of 1 MiB, and one workload.
constexpr size_t kUserKernelBytes = size_t{4} << 20;
// 10,000 digests, their texts, 256 kernels.
constexpr int64_t kBestFields = 21'000;
// Workers send 2 MiB of results a call, of 256 bytes at least: 8,192, whose fields
// wire_scan_test counts.
constexpr size_t kWorkerBytes = size_t{4} << 20;
constexpr int64_t kWorkerFields = 200'000;

constexpr std::array kPolicy = {
    Rule{"/mlc.proto.Tuner/SubmitJob", Role::kSubmit, false, kJobBytes, kJobFields},
    // Brings code for workers to run.
    Rule{"/mlc.proto.Tuner/SubmitUserKernel", Role::kAdmin, false, kUserKernelBytes},
    Rule{"/mlc.proto.Tuner/CancelJob", Role::kSubmit},  // one's own; the handler looks whose it is
    Rule{"/mlc.proto.Tuner/WatchJob", Role::kRead},
    Rule{"/mlc.proto.Tuner/GetJob", Role::kRead},
    Rule{"/mlc.proto.Tuner/ListJobs", Role::kRead},
    Rule{"/mlc.proto.Tuner/Best", Role::kRead, false, kJobBytes, kBestFields},
    // Under its own name: the handler looks.
    Rule{"/mlc.proto.Workers/Synchronize", Role::kWork, false, kWorkerBytes, kWorkerFields},
    Rule{"/mlc.proto.Workers/OpenSession", Role::kWork},
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

const Rule* RuleOf(std::string_view rpc) {
  const auto rule =
      std::find_if(kPolicy.begin(), kPolicy.end(), [&](const Rule& one) { return one.rpc == rpc; });
  return rule == kPolicy.end() ? nullptr : &*rule;
}

Status Check(const Caller& caller, std::string_view rpc) {
  if (caller.local) return Status();
  const Rule* rule = RuleOf(rpc);
  if (rule == nullptr) {
    return {StatusCode::kPermissionDenied, "no role may call " + std::string(rpc)};
  }
  if (rule->any_role || caller.Has(rule->role)) return Status();
  return {StatusCode::kPermissionDenied, caller.ToText() + " may not call " + std::string(rpc) +
                                             ": it requires the role " +
                                             std::string(ToText(rule->role))};
}

}  // namespace mlc::server
