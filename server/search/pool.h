// The candidates of one task that the search has looked at: a sample of the legal points, which
// grows around the fastest ones. Candidates have numbers and are never removed. Not thread-safe.
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

  // Returns the number of the candidate and adds it if it is new; kIllegal for an illegal point.
  int Add(size_t family, const Point& point);
  // Adds distinct legal points of every family: all points of a small family, else up to `most` of
  // them in at most `draws` tries.
  void Sample(size_t most, size_t draws, Rng& rng);
  // The legal points that differ from the candidate by one step of one knob.
  std::vector<int> Neighbours(int candidate);
  // A point that differs from the candidate in one to three knobs, mostly by few steps. kIllegal if
  // that point is illegal.
  int Mutate(int candidate, Rng& rng);
  // The point itself if it is legal, else a legal point that is one step of a knob away.
  int Repair(const PointRef& wanted);

  int size() const { return static_cast<int>(families_.size()); }
  size_t family(int candidate) const { return families_[static_cast<size_t>(candidate)]; }
  Point point(int candidate) const;
  double log_estimate(int candidate) const { return estimates_[static_cast<size_t>(candidate)]; }
  // Copies the features of the candidates from `first` on, row by row. REQUIRES: `rows` has room
  // for whole rows.
  void ReadFeatures(int first, std::span<float> rows) const;
  // The number of knobs in which two candidates differ; a large number for candidates of two
  // families.
  int Difference(int a, int b) const;
  const CandidateSource& source() const { return *source_; }

 private:
  void SampleFamily(size_t family, size_t most, size_t draws, Rng& rng);
  uint32_t RankOf(size_t family, const Point& point) const;
  std::span<const uint16_t> Indices(int candidate) const;

  std::unique_ptr<CandidateSource> source_;
  // Candidates by family and rank. Most points that the search looks at are illegal, so an illegal
  // one is only a number.
  std::vector<RankTable> known_;
  std::vector<uint16_t> families_;
  std::vector<uint32_t> begins_;   // of each candidate in indices_
  std::vector<uint16_t> indices_;  // of domains: the points, one after the other
  std::vector<double> estimates_;
  FeatureRows features_;
  std::vector<float> row_;  // of the candidate that is being added
};

}  // namespace mlc::server
