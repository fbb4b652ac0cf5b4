#include "server/search/tuned_candidates.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace mlc::server {
namespace {

// Blocks, threads of a block, all threads, shared memory, threads of the last warp.
constexpr size_t kLaunchColumns = 5;

float Logarithm(double value) { return static_cast<float>(std::log2(std::max(1.0, value))); }

// Trees split by order alone: a number is as good as its logarithm; a word is its place.
float Column(const schedule::ExpressionValue& value, size_t place) {
  if (const auto* whole = std::get_if<int64_t>(&value.value)) return static_cast<float>(*whole);
  if (const auto* real = std::get_if<double>(&value.value)) return static_cast<float>(*real);
  return static_cast<float>(place);
}

}  // namespace

size_t TunedCandidates::columns() const { return kernel_.radix().size() + kLaunchColumns; }

bool TunedCandidates::Describe(size_t /*family*/, const Point& point, double& estimate_ns,
                               std::span<float> features) const {
  const std::vector<schedule::ExpressionValue> values = kernel_.ValuesAt(point);
  if (!kernel_.spec().Allows(values)) return false;
  const Result<schedule::SpecInstance> launch = kernel_.spec().Launch(values);
  if (!launch.ok()) return false;
  const auto* gpu = target_.As<target::GpuTarget>();
  if (gpu != nullptr && launch->block_bytes > gpu->block_bytes) return false;
  for (size_t k = 0; k < values.size(); ++k) features[k] = Column(values[k], point[k]);
  const auto product = [](const target::Dim3& extent) {
    return static_cast<double>(extent.x) * static_cast<double>(extent.y) *
           static_cast<double>(extent.z);
  };
  const double blocks = product(launch->grid), threads = product(launch->block);
  const std::span<float> rest = features.subspan(values.size());
  rest[0] = Logarithm(blocks);
  rest[1] = Logarithm(threads);
  rest[2] = Logarithm(blocks * threads);
  rest[3] = Logarithm(static_cast<double>(launch->block_bytes));
  rest[4] = static_cast<float>(std::fmod(threads, 32));
  // Nothing is known of a user's source before it is measured: all configs are alike.
  estimate_ns = 1;
  return true;
}

schedule::Config TunedCandidates::ConfigOf(size_t /*family*/, const Point& point) const {
  return kernel_.At(point);
}

std::optional<PointRef> TunedCandidates::Find(const schedule::Config& config) const {
  std::optional<std::vector<uint16_t>> point = kernel_.PointOf(config);
  if (!point) return std::nullopt;
  return PointRef{0, *std::move(point)};
}

}  // namespace mlc::server
