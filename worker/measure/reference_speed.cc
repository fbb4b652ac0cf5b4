#include "worker/measure/reference_speed.h"

#include <algorithm>
#include <cmath>

namespace mlc::worker {
namespace {

// Probes that the usual speed is the median of, about one a trial: some minutes.
constexpr size_t kProbes = 255;
// With fewer, a disturbance of some seconds would pass for the usual speed.
constexpr size_t kMinProbes = 32;
constexpr double kUnsharedShare = 0.8;

bool IsSpeed(double gflops) { return std::isfinite(gflops) && gflops > 0; }

}  // namespace

void ReferenceSpeed::Record(double gflops) {
  if (!IsSpeed(gflops)) return;
  best_ = std::max(best_, gflops);
  if (probes_.size() < kProbes) {
    probes_.push_back(gflops);
  } else {
    probes_[next_] = gflops;
    next_ = (next_ + 1) % kProbes;
  }
  FindUsual();
}

void ReferenceSpeed::FindUsual() {
  std::vector<double> sorted = probes_;
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  usual_ = sorted.empty() ? 0 : *middle;
  shared_ = probes_.size() >= kMinProbes && usual_ < kUnsharedShare * best_;
}

double ReferenceSpeed::Closeness(double gflops) {
  if (!IsSpeed(gflops)) return 1;
  best_ = std::max(best_, gflops);
  const double quotient = gflops / (shared_ ? usual_ : best_);
  return quotient > 1 ? 1 / quotient : quotient;
}

void ReferenceSpeed::PutInto(ByteWriter& out) const {
  out.Put(best_);
  out.Put<uint64_t>(next_);
  out.Put<uint64_t>(probes_.size());
  for (const double probe : probes_) out.Put(probe);
}

bool ReferenceSpeed::GetFrom(ByteReader& in) {
  best_ = in.Get<double>();
  next_ = in.Get<uint64_t>();
  const auto count = in.Get<uint64_t>();
  if (count > kProbes || next_ >= kProbes || !std::isfinite(best_) || best_ < 0) return false;
  probes_.clear();
  for (size_t i = 0; i < count; ++i) probes_.push_back(in.Get<double>());
  if (!in.ok() || !std::all_of(probes_.begin(), probes_.end(), IsSpeed)) return false;
  FindUsual();
  return true;
}

}  // namespace mlc::worker
