#include "compiler/ir/interpret/gpu_clock.h"

#include <algorithm>

namespace mlc::ir {

void GpuClock::StartLaunch(int threads) {
  launch_ = ++now_;
  warps_.assign(static_cast<size_t>(threads / kWarpThreads), now_);
  seen_.assign(warps_.size() * warps_.size(), 0);
  is_early_.assign(static_cast<size_t>(threads), false);
}

void GpuClock::See(int warp, int other, uint32_t before) {
  uint32_t& seen = seen_[SeenAt(warp, other)];
  seen = std::max(seen, before);
}

void GpuClock::StartBlock(bool awaits) {
  Barrier();
  block_ = part_ = now_;
  acquired_.clear();
  turns_.clear();
  early_ = awaits ? static_cast<int>(is_early_.size()) : 0;
  is_early_.assign(is_early_.size(), awaits);
}

void GpuClock::Resume(const Place& place, const std::vector<Span>& seen) {
  Barrier();
  part_ = now_;
  block_ = place.block;
  is_early_ = place.is_early;
  early_ = place.early;
  acquired_.clear();
  turns_.clear();
  Acquire(seen);
}

void GpuClock::Return(const GpuClock& own) {
  const uint32_t now = now_;
  *this = own;
  if (now == now_) return;
  turns_.push_back({now_ + 1, now});
  now_ = now + 1;
}

bool GpuClock::OfOthers(uint32_t when) const {
  const auto after =
      std::upper_bound(turns_.begin(), turns_.end(), when,
                       [](uint32_t moment, const Span& span) { return moment < span.first; });
  return after != turns_.begin() && when <= std::prev(after)->last;
}

void GpuClock::Barrier() {
  barrier_ = ++now_;
  std::fill(warps_.begin(), warps_.end(), now_);
}

void GpuClock::AwaitInputs(int thread) {
  if (!is_early_[static_cast<size_t>(thread)]) return;
  is_early_[static_cast<size_t>(thread)] = false;
  --early_;
}

bool GpuClock::Acquired(uint32_t when) const {
  const auto after =
      std::upper_bound(acquired_.begin(), acquired_.end(), when,
                       [](uint32_t moment, const Span& span) { return moment < span.first; });
  return after != acquired_.begin() && when <= std::prev(after)->last;
}

void GpuClock::Acquire(const std::vector<Span>& spans) {
  std::vector<Span> all = acquired_;
  all.insert(all.end(), spans.begin(), spans.end());
  // Spans of one part of a block start together; the longest of them holds the others.
  std::sort(all.begin(), all.end(), [](const Span& a, const Span& b) {
    return a.first != b.first ? a.first < b.first : a.last > b.last;
  });
  acquired_.clear();
  for (const Span& span : all) {
    if (acquired_.empty() || acquired_.back().first != span.first) acquired_.push_back(span);
  }
}

void GpuClock::Publish(std::vector<Span>* spans) const {
  uint32_t first = part_;
  for (const Span& turn : turns_) {
    spans->push_back({first, turn.first - 1});
    first = turn.last + 1;
  }
  spans->push_back({first, now_});
  spans->insert(spans->end(), acquired_.begin(), acquired_.end());
}

}  // namespace mlc::ir
