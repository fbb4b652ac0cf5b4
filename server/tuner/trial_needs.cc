#include "server/tuner/trial_needs.h"

#include <bit>

#include "compiler/schedule/cuda/user_kernel/user_kernel.h"

namespace mlc::server {

Needs NeedsOf(const JobSpec& job, const JobFacts& facts, const Proposal& proposal) {
  const auto task = static_cast<size_t>(proposal.task);
  Needs needs;
  needs.target_class = job.target_class;
  // All trials of such a job: they are compared on one device.
  needs.reported_only = !job.options.user_kernel.empty() || schedule::IsUserKernel(proposal.config);
  needs.kernel = !job.options.user_kernel.empty()
                     ? schedule::UserKernelName(job.options.user_kernel)
                     : proposal.config.family + "/" + std::to_string(proposal.config.version);
  // Rounded, so that a job has few queues.
  if (task < facts.memory_bytes.size()) {
    needs.memory_bytes =
        static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(facts.memory_bytes[task])) / 2);
  }
  return needs;
}

Needs LeastNeeds(const JobSpec& job) {
  Needs needs;
  needs.target_class = job.target_class;
  needs.reported_only = !job.options.user_kernel.empty();
  if (needs.reported_only) needs.kernel = schedule::UserKernelName(job.options.user_kernel);
  return needs;
}

}  // namespace mlc::server
