#include "tests/bench/config_choice.h"

#include <algorithm>
#include <cstdio>
#include <set>
#include <utility>

namespace mlc::bench {

std::vector<schedule::Config> NamedConfigs(const std::string& texts) {
  std::vector<schedule::Config> configs;
  for (size_t at = 0; at < texts.size();) {
    const size_t end = std::min(texts.find(';', at), texts.size());
    const auto config = schedule::Config::Parse(texts.substr(at, end - at));
    if (config.ok()) {
      configs.push_back(*config);
    } else {
      std::printf("  %s\n", config.status().ToString().c_str());
    }
    at = end + 1;
  }
  return configs;
}

std::vector<schedule::Config> RandomConfigs(const std::vector<const schedule::Family*>& families,
                                            const graph::Workload& workload,
                                            const target::Target& target, size_t count, Rng rng) {
  constexpr int kDraws = 20000;  // of a family, in spaces with few legal points
  std::vector<schedule::Config> configs;
  std::set<std::string> seen;
  for (const schedule::Family* family : families) {
    configs.push_back(family->Default(workload, target));
    seen.insert(configs.back().ToText());
    const schedule::Space space = family->MakeSpace(workload, target);
    const size_t wanted = configs.size() + count / families.size();
    for (int draw = 0; draw < kDraws && configs.size() < wanted; ++draw) {
      schedule::Config config =
          space.At(static_cast<int64_t>(rng.Below(static_cast<uint64_t>(space.NumPoints()))));
      if (family->Check(workload, target, config) != schedule::RejectReason::kNone) continue;
      if (seen.insert(config.ToText()).second) configs.push_back(std::move(config));
    }
  }
  return configs;
}

}  // namespace mlc::bench
