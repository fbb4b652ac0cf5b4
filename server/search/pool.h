// The candidates of one task that the search has looked at: a sample of the legal points, grown
// around what turns out well. Candidates are numbered and never removed. Not thread-safe.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "compiler/base/rng.h"
#include "server/search/candidate_source.h"

namespace mlc::server {

class Pool {
 public:
  static constexpr int kIllegal = -1;

  explicit Pool(std::unique_ptr<CandidateSource> source);

  // The candidate's number, new or old, or kIllegal.
  int Add(size_t family, const Point& point);
  // Adds distinct legal points of every family: the whole family if it is small, else up to `most`
  // of them in at most `draws` tries.
  void Sample(size_t most, size_t draws, Rng& rng);
  // One knob moved by one step either way; legal ones only.
  std::vector<int> Neighbours(int candidate);
  // One to three knobs moved, mostly by few steps. kIllegal if that is no legal point.
  int Mutate(int candidate, Rng& rng);
  // Legal repairs of a point: the point itself, else one found by moving knobs one step.
  int Repair(const PointRef& wanted);

  int size() const { return static_cast<int>(families_.size()); }
  size_t family(int candidate) const { return families_[static_cast<size_t>(candidate)]; }
  const Point& point(int candidate) const { return *points_[static_cast<size_t>(candidate)]; }
  double log_estimate(int candidate) const { return estimates_[static_cast<size_t>(candidate)]; }
  std::span<const float> features(int candidate) const;
  // Knobs in which two candidates differ; many for two families.
  int Difference(int a, int b) const;
  const CandidateSource& source() const { return *source_; }

 private:
  void SampleFamily(size_t family, size_t most, size_t draws, Rng& rng);

  std::unique_ptr<CandidateSource> source_;
  size_t columns_;
  std::vector<std::map<Point, int>> known_;  // by family; illegal points too
  std::vector<size_t> families_;
  std::vector<const Point*> points_;  // keys of known_
  std::vector<double> estimates_;
  std::vector<float> features_;
  std::vector<float> row_;
};

}  // namespace mlc::server
