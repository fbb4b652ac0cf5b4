// The candidates of one task: a grid of points for each family, some of them illegal. The search
// depends only on this interface, not on kernels or devices, so tests can replay it on recorded
// spaces. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace mlc::server {

// Domain indices, one for each knob.
using Point = std::vector<uint16_t>;

struct PointRef {
  size_t family = 0;
  Point point;
};

class CandidateSource {
 public:
  virtual ~CandidateSource() = default;
  virtual size_t families() const = 0;
  // Tasks share the models of families with the same name.
  virtual std::string_view family_name(size_t family) const = 0;
  // Domain sizes of the family's knobs.
  virtual std::span<const uint16_t> radix(size_t family) const = 0;
  // Features of a candidate; the same for all tasks of a search.
  virtual size_t columns() const = 0;
  // False if the point is illegal. Otherwise sets its estimated time in ns, above 0, and its
  // features (`columns` values).
  virtual bool Describe(size_t family, const Point& point, double& estimate_ns,
                        std::span<float> features) const = 0;
  // A good legal point of each family. The first one is the config that is used without a search.
  virtual std::vector<PointRef> Defaults() const = 0;
};

}  // namespace mlc::server
