// What a search chooses from for one task: a grid of points for each family, with the reasons why
// some are illegal hidden behind a yes or no. The search itself knows neither kernels nor devices,
// so that it can be replayed on recorded spaces. Not thread-safe.
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
  // Tasks share what they learn about families of one name.
  virtual std::string_view family_name(size_t family) const = 0;
  // Domain sizes of the family's knobs.
  virtual std::span<const uint16_t> radix(size_t family) const = 0;
  // Features of a candidate; the same for all tasks of a search.
  virtual size_t columns() const = 0;
  // False if the point is illegal. Else its estimated time, above 0, and its features, `columns`
  // values.
  virtual bool Describe(size_t family, const Point& point, double& estimate_ns,
                        std::span<float> features) const = 0;
  // One good point of each family, first the one that would be used without a search; legal.
  virtual std::vector<PointRef> Defaults() const = 0;
};

}  // namespace mlc::server
