// A kernel space that was measured exhaustively, from a gzipped JSON file of the Auto-Tuning
// Association's benchmark hub, as candidates of a search. Failed configs are legal points whose
// trials fail. Immutable.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "server/search/candidate_source.h"

namespace mlc::bench {

class RecordedSpace {
 public:
  static Result<std::shared_ptr<const RecordedSpace>> Read(const std::string& path);

  // 0 for a config that failed. REQUIRES: Has(point).
  double Time(const server::Point& point) const { return rows_.at(point); }
  bool Has(const server::Point& point) const { return rows_.contains(point); }
  const std::map<server::Point, double>& rows() const { return rows_; }
  const std::vector<uint16_t>& radix() const { return radix_; }
  const std::vector<std::vector<double>>& values() const { return values_; }
  double best() const { return best_; }
  double median() const { return median_; }

 private:
  std::vector<uint16_t> radix_;
  std::vector<std::vector<double>> values_;  // by knob
  std::map<server::Point, double> rows_;
  double best_ = 0;
  double median_ = 0;
};

// The space as a search sees it: no estimate but the typical time, no other default than the first
// config.
class RecordedSource : public server::CandidateSource {
 public:
  explicit RecordedSource(std::shared_ptr<const RecordedSpace> space) : space_(std::move(space)) {}
  size_t families() const override { return 1; }
  std::string_view family_name(size_t) const override { return "recorded"; }
  std::span<const uint16_t> radix(size_t) const override { return space_->radix(); }
  size_t columns() const override { return space_->radix().size() + 3; }
  bool Describe(size_t family, const server::Point& point, double& estimate_ns,
                std::span<float> features) const override;
  std::vector<server::PointRef> Defaults() const override;

 private:
  std::shared_ptr<const RecordedSpace> space_;
};

}  // namespace mlc::bench
