#include "server/tuner/canaries.h"

#include "compiler/schedule/cuda/user_kernel/user_kernel.h"
#include "costmodel/default_config.h"

namespace mlc::server {
namespace {

// Workloads of jobs that are looked at for a known trial.
constexpr size_t kKnownWorkloads = 4;
// A class of CPUs has slower and faster ones, and neighbours; a class of GPUs is one model.
constexpr double kSameCpu = 3;
constexpr double kSameGpu = 1.5;

constexpr char kSmallTrial[] =
    "workload v1 tolerance=1e-04 {\n"
    "%0 = input() : f32[64,64]\n"
    "%1 = weight() : f32[64,64]\n"
    "%2 = matmul(%0, %1) : f32[64,64]\n"
    "return %2\n}\n";

// The best record of another worker on a workload that jobs of the class have, or a small product.
Check Choose(const db::TuningLog& log, const std::string& worker, const target::Target& target,
             const std::vector<Digest>& workloads) {
  Check check;
  check.worker = worker;
  check.factor = target.As<target::GpuTarget>() != nullptr ? kSameGpu : kSameCpu;
  // User-supplied kernels are only for workers that allow them, and do not verify a worker.
  const auto by_others = [&](const db::Record& record) {
    return record.worker != worker && !schedule::IsUserKernel(record.config);
  };
  for (const Digest& workload : workloads) {
    const auto best = log.Best(workload, target.ClassText(), 1, by_others);
    const auto text = log.FindWorkload(workload);
    if (!best.ok() || best->empty() || !text.ok() || !*text) continue;
    check.workload = (**text).text;
    check.config = best->front().config;
    check.expected_ns = best->front().measurement.median_ns;
    return check;
  }
  const Result<graph::Workload> small = graph::Workload::Parse(kSmallTrial);
  const auto config = costmodel::DefaultConfig(*small, target);
  if (!config.ok()) return check;
  check.workload = small->ToText();
  check.config = config->ToText();
  return check;
}

}  // namespace

void Canaries::Send(const SyncCall& call) {
  const std::string& worker = call.worker();
  std::vector<Digest> workloads;
  {
    const MutexLock lock(tables_.mutex);
    if (tables_.draining || call.request.draining) return;
    if (!tables_.registry.health.CanaryIsDue(worker, context_.NowMs())) return;
    tables_.registry.health.CanarySent(worker);
    for (const auto& [id, job] : tables_.jobs) {
      if (job->spec.target_class != call.target_class) continue;
      for (const db::JobTask& task : job->spec.tasks) {
        if (workloads.size() < kKnownWorkloads) workloads.push_back(task.workload);
      }
    }
  }
  const Result<target::Target> target = target::Target::Parse(call.request.target);
  Check check = Choose(context_.log, worker, *target, workloads);
  const MutexLock lock(tables_.mutex);
  if (check.config.empty()) {
    // Nothing is known that it could run.
    (void)tables_.registry.health.CanaryEnded(worker, Status(), context_.NowMs());
    return;
  }
  const Digest uid =
      DigestOf("canary " + std::to_string(++tables_.registry.last_number) + "\n" + worker + "\n" +
               call.request.incarnation + "\n" + std::to_string(context_.started_ms));
  check.seed = uid.low;
  LeaseAsk ask;
  ask.uid = uid;
  ask.job_id = kCheckJobId;
  ask.needs.target_class = call.target_class;
  ask.only = worker;
  if (!tables_.leases.Add(ask)) return tables_.registry.health.CanaryLost(worker);
  tables_.registry.checks[uid] = std::move(check);
}

}  // namespace mlc::server
