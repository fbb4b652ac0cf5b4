#include "worker/device/fleet/gpu_usage.h"

#include <cstdio>

namespace mlc::worker {

void GpuUsage::Note(const GpuMoment& moment, Clock::time_point now) {
  const double passed = std::chrono::duration<double>(now - since_).count();
  since_ = now;
  const GpuMoment before = moment_;
  moment_ = moment;
  if (before.held == 0) return;
  const double idle = passed * (before.gpus - before.busy);
  with_trials_ += passed * before.gpus;
  busy_ += passed * before.busy;
  compiling_ += passed * before.building;
  compilers_ += passed * before.builders;
  if (before.locked) {
    others_ += idle;
  } else if (before.unbuilt > 0) {
    builds_ += idle;
  } else if (before.unchecked > 0) {
    references_ += idle;
  }
}

double GpuUsage::BusyShare() const { return with_trials_ > 0 ? busy_ / with_trials_ : 0; }

std::string GpuUsage::ToText() const {
  if (with_trials_ <= 0) return "";
  const auto share = [&](double seconds) { return 100 * seconds / with_trials_; };
  const double rest = with_trials_ - busy_ - builds_ - references_ - others_;
  char more[48] = "";
  if (more_ > 0) std::snprintf(more, sizeof(more), " (%.0f %% with more samples)", share(more_));
  const double compiling = compilers_ > 0 ? 100 * compiling_ / compilers_ : 0;
  char text[288];
  std::snprintf(text, sizeof(text),
                "GPU busy %.0f %%%s of %.1f s with trials (%lld timed); idle: %.0f %% for builds, "
                "%.0f %% for references, %.0f %% for other workers, %.0f %% for trials; "
                "compilers %.0f %% busy",
                share(busy_), more, with_trials_, static_cast<long long>(trials_), share(builds_),
                share(references_), share(others_), share(rest), compiling);
  return text;
}

}  // namespace mlc::worker
