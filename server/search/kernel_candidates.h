// The candidates of a workload: all configs of all families that accept it. Not thread-safe; copies
// its arguments.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/graph/workload.h"
#include "compiler/schedule/space/family.h"
#include "compiler/target/target.h"
#include "costmodel/problem.h"
#include "server/search/config_source.h"

namespace mlc::server {

class KernelCandidates : public ConfigSource {
 public:
  KernelCandidates(graph::Workload workload, target::Target target);
  KernelCandidates(const KernelCandidates&) = delete;
  KernelCandidates& operator=(const KernelCandidates&) = delete;

  size_t families() const override { return families_.size(); }
  std::string_view family_name(size_t family) const override;
  std::span<const uint16_t> radix(size_t family) const override;
  size_t columns() const override;
  bool Describe(size_t family, const Point& point, double& estimate_ns,
                std::span<float> features) const override;
  std::vector<PointRef> Defaults() const override;

  schedule::Config ConfigOf(size_t family, const Point& point) const override;
  std::optional<PointRef> Find(const schedule::Config& config) const override;

 private:
  struct Entry {
    const schedule::Family* family;
    std::unique_ptr<const schedule::Problem> problem;  // of workload_ and target_
    schedule::Space space;
    schedule::Config form;  // of the family, values to be filled in
    std::vector<uint16_t> radix;
    mutable schedule::Config
        tried;  // the last described config, kept so that its names are not copied each time
  };

  static void SetKnobs(const Entry& entry, const Point& point, schedule::Config& config);

  graph::Workload workload_;
  target::Target target_;
  costmodel::Problem problem_;
  std::vector<Entry> families_;
};

}  // namespace mlc::server
