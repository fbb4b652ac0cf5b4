#include "server/search/kernel_candidates.h"

#include <algorithm>
#include <utility>

#include "costmodel/analytic.h"
#include "costmodel/default_config.h"
#include "costmodel/features.h"

namespace mlc::server {
KernelCandidates::KernelCandidates(graph::Workload workload, target::Target target)
    : workload_(std::move(workload)),
      target_(std::move(target)),
      problem_(costmodel::DescribeProblem(workload_)) {
  for (const schedule::Family* family : schedule::FamiliesFor(workload_, target_)) {
    std::unique_ptr<const schedule::Problem> problem = family->Open(workload_, target_);
    schedule::Space space = problem->MakeSpace();
    Entry entry{family, std::move(problem), std::move(space), {}, {}, {}};
    if (entry.space.NumPoints() == 0) continue;
    entry.form = entry.tried = entry.space.At(0);
    for (const schedule::Knob& knob : entry.space.knobs) {
      entry.radix.push_back(static_cast<uint16_t>(knob.domain.size()));
    }
    families_.push_back(std::move(entry));
  }
}

std::string_view KernelCandidates::family_name(size_t family) const {
  return families_[family].family->name();
}

std::span<const uint16_t> KernelCandidates::radix(size_t family) const {
  return families_[family].radix;
}

size_t KernelCandidates::columns() const { return costmodel::Features().size(); }

bool KernelCandidates::Describe(size_t family, const Point& point, double& estimate_ns,
                                std::span<float> features) const {
  const Entry& entry = families_[family];
  schedule::Config& config = entry.tried;
  SetKnobs(entry, point, config);
  if (entry.problem->Check(config) != schedule::RejectReason::kNone) return false;
  const schedule::KernelFacts facts = entry.problem->Facts(config);
  const costmodel::Estimate estimate = costmodel::EstimateKernel(facts, target_);
  costmodel::ComputeFeatures({problem_, facts, estimate, config, target_}, features);
  estimate_ns = std::max(1.0, estimate.total_ns);
  return true;
}

std::vector<PointRef> KernelCandidates::Defaults() const {
  std::vector<PointRef> points;
  for (const schedule::Config& config : costmodel::DefaultConfigs(workload_, target_)) {
    std::optional<PointRef> found = Find(config);
    if (found) points.push_back(*std::move(found));
  }
  return points;
}

schedule::Config KernelCandidates::ConfigOf(size_t family, const Point& point) const {
  const Entry& entry = families_[family];
  schedule::Config config = entry.form;
  SetKnobs(entry, point, config);
  return config;
}

void KernelCandidates::SetKnobs(const Entry& entry, const Point& point, schedule::Config& config) {
  for (size_t k = 0; k < point.size(); ++k) {
    config.knobs[k].second = entry.space.knobs[k].domain[point[k]];
  }
}

std::optional<PointRef> KernelCandidates::Find(const schedule::Config& config) const {
  for (size_t f = 0; f < families_.size(); ++f) {
    const Entry& entry = families_[f];
    if (entry.family->name() != config.family || entry.form.version != config.version) continue;
    if (entry.space.knobs.size() != config.knobs.size()) return std::nullopt;
    PointRef ref{f, {}};
    for (size_t k = 0; k < config.knobs.size(); ++k) {
      const auto& [name, domain] = entry.space.knobs[k];
      const auto value = std::find(domain.begin(), domain.end(), config.knobs[k].second);
      if (name != config.knobs[k].first || value == domain.end()) return std::nullopt;
      ref.point.push_back(static_cast<uint16_t>(value - domain.begin()));
    }
    return ref;
  }
  return std::nullopt;
}

}  // namespace mlc::server
