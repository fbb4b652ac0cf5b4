// The candidates of a user-supplied kernel with tunable parameters: the configs of its
// specification. Its parameters are the features, beside what its launch implies. Not thread-safe.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/schedule/cuda/user_kernel/tuned_kernel.h"
#include "compiler/target/target.h"
#include "server/search/config_source.h"

namespace mlc::server {

class TunedCandidates : public ConfigSource {
 public:
  TunedCandidates(schedule::TunedKernel kernel, target::Target target)
      : kernel_(std::move(kernel)), target_(std::move(target)) {}

  size_t families() const override { return 1; }
  std::string_view family_name(size_t) const override { return schedule::kUserKernel; }
  std::span<const uint16_t> radix(size_t) const override { return kernel_.radix(); }
  size_t columns() const override;
  bool Describe(size_t family, const Point& point, double& estimate_ns,
                std::span<float> features) const override;
  std::vector<PointRef> Defaults() const override { return {{0, kernel_.default_point()}}; }

  schedule::Config ConfigOf(size_t family, const Point& point) const override;
  std::optional<PointRef> Find(const schedule::Config& config) const override;

 private:
  const schedule::TunedKernel kernel_;
  const target::Target target_;
};

}  // namespace mlc::server
