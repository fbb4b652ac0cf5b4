#include "worker/measure/reference_speed.h"

#include <algorithm>
#include <cmath>

namespace mlc::worker {
namespace {

// Looks that the usual speed is the median of, about one a trial: some minutes.
constexpr size_t kLooks = 255;
// Before that, a disturbance of some seconds could be taken for the usual.
constexpr size_t kLeastLooks = 32;
constexpr double kMostlyBest = 0.8;

bool IsSpeed(double gflops) { return std::isfinite(gflops) && gflops > 0; }

}  // namespace

void ReferenceSpeed::Note(double gflops) {
  if (!IsSpeed(gflops)) return;
  best_ = std::max(best_, gflops);
  if (looks_.size() < kLooks) {
    looks_.push_back(gflops);
  } else {
    looks_[next_] = gflops;
    next_ = (next_ + 1) % kLooks;
  }
  FindUsual();
}

void ReferenceSpeed::FindUsual() {
  std::vector<double> sorted = looks_;
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  usual_ = sorted.empty() ? 0 : *middle;
  shared_ = looks_.size() >= kLeastLooks && usual_ < kMostlyBest * best_;
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
  out.Put<uint64_t>(looks_.size());
  for (const double look : looks_) out.Put(look);
}

bool ReferenceSpeed::GetFrom(ByteReader& in) {
  best_ = in.Get<double>();
  next_ = in.Get<uint64_t>();
  const auto count = in.Get<uint64_t>();
  if (count > kLooks || next_ >= kLooks || !std::isfinite(best_) || best_ < 0) return false;
  looks_.clear();
  for (size_t i = 0; i < count; ++i) looks_.push_back(in.Get<double>());
  if (!in.ok() || !std::all_of(looks_.begin(), looks_.end(), IsSpeed)) return false;
  FindUsual();
  return true;
}

}  // namespace mlc::worker
