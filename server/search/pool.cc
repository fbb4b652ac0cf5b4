#include "server/search/pool.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"

namespace mlc::server {
namespace {

constexpr int kOtherFamily = 1000;

uint64_t NumPoints(std::span<const uint16_t> radix) {
  uint64_t points = 1;
  for (uint16_t size : radix) points *= size;
  return points;
}

void SetPoint(std::span<const uint16_t> radix, uint64_t rank, Point& point) {
  for (size_t k = radix.size(); k-- > 0;) {
    point[k] = static_cast<uint16_t>(rank % radix[k]);
    rank /= radix[k];
  }
}

}  // namespace

Pool::Pool(std::unique_ptr<CandidateSource> source)
    : source_(std::move(source)),
      known_(source_->families()),
      of_family_(source_->families()),
      features_(source_->columns()),
      row_(source_->columns()) {
  for (size_t family = 0; family < source_->families(); ++family) {
    MLC_CHECK(NumPoints(source_->radix(family)) <= RankTable::kNone) << "a space is too large";
  }
}

uint32_t Pool::RankOf(size_t family, const Point& point) const {
  const std::span<const uint16_t> radix = source_->radix(family);
  uint32_t rank = 0;
  for (size_t k = 0; k < point.size(); ++k) rank = rank * radix[k] + point[k];
  return rank;
}

int Pool::Add(size_t family, const Point& point) {
  const auto [number, is_new] = known_[family].Insert(RankOf(family, point), kIllegal);
  if (!is_new) return *number;
  double estimate = 0;
  if (!source_->Describe(family, point, estimate, row_)) return kIllegal;
  *number = size();
  families_.push_back(static_cast<uint16_t>(family));
  of_family_[family].push_back(*number);
  begins_.push_back(static_cast<uint32_t>(indices_.size()));
  indices_.insert(indices_.end(), point.begin(), point.end());
  estimates_.push_back(std::log(estimate));
  features_.Add(row_);
  return *number;
}

std::span<const uint16_t> Pool::Indices(int candidate) const {
  return std::span(indices_).subspan(begins_[static_cast<size_t>(candidate)],
                                     source_->radix(family(candidate)).size());
}

Point Pool::point(int candidate) const {
  const std::span<const uint16_t> indices = Indices(candidate);
  return Point(indices.begin(), indices.end());
}

void Pool::Sample(size_t most, size_t draws, Rng& rng) {
  for (size_t family = 0; family < source_->families(); ++family) {
    SampleFamily(family, most, draws, rng);
  }
}

void Pool::SampleFamily(size_t family, size_t most, size_t draws, Rng& rng) {
  const std::span<const uint16_t> radix = source_->radix(family);
  const uint64_t points = NumPoints(radix);
  const size_t wanted = families_.size() + most;
  Point point(radix.size());
  if (points <= draws) {
    for (uint64_t rank = 0; rank < points; ++rank) {
      SetPoint(radix, rank, point);
      Add(family, point);
    }
    return;
  }
  for (size_t draw = 0; draw < draws && families_.size() < wanted; ++draw) {
    SetPoint(radix, rng.Below(points), point);
    Add(family, point);
  }
}

int Pool::Draw(Rng& rng) const {
  const auto any = [&](uint64_t count) { return static_cast<size_t>(rng.Below(count)); };
  std::vector<const std::vector<int>*> families;
  for (const std::vector<int>& candidates : of_family_) {
    if (!candidates.empty()) families.push_back(&candidates);
  }
  const std::vector<int>& chosen = *families[families.size() > 1 ? any(families.size()) : 0];
  return chosen[any(chosen.size())];
}

std::vector<int> Pool::Neighbours(int candidate, int reach) {
  const size_t family = this->family(candidate);
  const std::span<const uint16_t> radix = source_->radix(family);
  const Point centre = point(candidate);
  std::vector<int> found;
  for (size_t k = 0; k < centre.size(); ++k) {
    const int first = std::max(centre[k] - reach, 0);
    const int last = std::min(centre[k] + reach, radix[k] - 1);
    for (int moved = first; moved <= last; ++moved) {
      if (moved == centre[k]) continue;
      Point neighbour = centre;
      neighbour[k] = static_cast<uint16_t>(moved);
      const int index = Add(family, neighbour);
      if (index != kIllegal) found.push_back(index);
    }
  }
  return found;
}

int Pool::Mutate(int candidate, Rng& rng) {
  const size_t family = this->family(candidate);
  const std::span<const uint16_t> radix = source_->radix(family);
  Point changed = point(candidate);
  if (changed.empty()) return kIllegal;
  const uint64_t moves = 1 + rng.Below(3);
  for (uint64_t move = 0; move < moves; ++move) {
    const size_t k = rng.Below(changed.size());
    const int reach = rng.Below(4) == 0 ? radix[k] : 2;
    const int step = static_cast<int>(rng.Below(static_cast<uint64_t>(2 * reach + 1))) - reach;
    changed[k] = static_cast<uint16_t>(std::clamp(changed[k] + step, 0, radix[k] - 1));
  }
  return Add(family, changed);
}

int Pool::Repair(const PointRef& wanted) {
  const int exact = Add(wanted.family, wanted.point);
  if (exact != kIllegal) return exact;
  const std::span<const uint16_t> radix = source_->radix(wanted.family);
  int best = kIllegal;
  for (size_t k = 0; k < wanted.point.size(); ++k) {
    for (uint16_t value = 0; value < radix[k]; ++value) {
      Point changed = wanted.point;
      changed[k] = value;
      const int index = Add(wanted.family, changed);
      if (index != kIllegal && (best == kIllegal || log_estimate(index) < log_estimate(best))) {
        best = index;
      }
    }
  }
  return best;
}

void Pool::ReadFeatures(int first, std::span<float> rows) const {
  features_.Read(static_cast<size_t>(first), rows);
}

int Pool::Difference(int a, int b) const {
  if (family(a) != family(b)) return kOtherFamily;
  const std::span<const uint16_t> p = Indices(a), q = Indices(b);
  int different = 0;
  for (size_t k = 0; k < p.size(); ++k) different += p[k] != q[k];
  return different;
}

}  // namespace mlc::server
