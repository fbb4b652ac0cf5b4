#include "server/state/executed_work.h"

#include <algorithm>

#include "compiler/schedule/space/check_config.h"
#include "compiler/schedule/space/family.h"

namespace mlc::server {

double ExecutedShare(const graph::Workload& workload, const target::Target& target,
                     const std::string& config) {
  // The text comes from a server, so it may be anything.
  const Result<schedule::Config> parsed = schedule::Config::Parse(config);
  if (!parsed.ok() || !schedule::CheckConfig(workload, target, *parsed).ok()) return 1;
  const schedule::Family* const family = schedule::FindFamily(parsed->family);
  if (family == nullptr) return 1;
  const schedule::KernelFacts facts = family->Facts(workload, target, *parsed);
  return facts.useful_flops > 0 ? std::min(1.0, facts.flops / facts.useful_flops) : 1;
}

}  // namespace mlc::server
