// The candidates of one task that the search has looked at: a sample of the legal points, grown
// around what turns out well. Candidates are numbered and never removed. Not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/rng.h"
#include "server/search/candidate_source.h"
#include "server/search/feature_rows.h"
#include "server/search/rank_table.h"

namespace mlc::server {

class Pool {
 public:
  static constexpr int kIllegal = -1;

  // REQUIRES: no family has 2^32 - 1 points or more.
  explicit Pool(std::unique_ptr<CandidateSource> source);

  // The candidate's number, new or old, or kIllegal.
  int Add(size_t family, const Point& point);
  // Adds distinct legal points of every family: the whole family if it is small, else up to `most`
  // of them in at most `draws` tries.
  void Sample(size_t most, size_t draws, Rng& rng);
  // Any candidate: families have equal chances, however many candidates they have. REQUIRES: there
  // is one.
  int Draw(Rng& rng) const;
  // One knob moved by up to `reach` steps either way; legal ones only.
  std::vector<int> Neighbours(int candidate, int reach);
  // One to three knobs moved, mostly by few steps. kIllegal if that is no legal point.
  int Mutate(int candidate, Rng& rng);
  // Legal repairs of a point: the point itself, else one found by moving knobs one step.
  int Repair(const PointRef& wanted);

  int size() const { return static_cast<int>(families_.size()); }
  size_t family(int candidate) const { return families_[static_cast<size_t>(candidate)]; }
  Point point(int candidate) const;
  double log_estimate(int candidate) const { return estimates_[static_cast<size_t>(candidate)]; }
  // Of the candidates from `first` on, one after the other: `rows` has room for whole ones.
  void ReadFeatures(int first, std::span<float> rows) const;
  // Knobs in which two candidates differ; many for two families.
  int Difference(int a, int b) const;
  const CandidateSource& source() const { return *source_; }

 private:
  void SampleFamily(size_t family, size_t most, size_t draws, Rng& rng);
  uint32_t RankOf(size_t family, const Point& point) const;
  std::span<const uint16_t> Indices(int candidate) const;

  std::unique_ptr<CandidateSource> source_;
  // By family and rank: most points that are looked at are illegal, and are kept as numbers alone.
  std::vector<RankTable> known_;
  std::vector<uint16_t> families_;
  std::vector<std::vector<int>> of_family_;  // candidates
  std::vector<uint32_t> begins_;             // of each candidate in indices_
  std::vector<uint16_t> indices_;            // of domains: the points, one after the other
  std::vector<double> estimates_;
  FeatureRows features_;
  std::vector<float> row_;  // of the candidate that is being added
};

}  // namespace mlc::server
