// Candidates that are configs: what the portfolio needs to search a workload's kernels. Not
// thread-safe.
#pragma once

#include <optional>

#include "compiler/schedule/space/config.h"
#include "server/search/candidate_source.h"

namespace mlc::server {

class ConfigSource : public CandidateSource {
 public:
  virtual schedule::Config ConfigOf(size_t family, const Point& point) const = 0;
  // The point of the config; empty if the config has another version or is not on the grid.
  virtual std::optional<PointRef> Find(const schedule::Config& config) const = 0;
};

}  // namespace mlc::server
