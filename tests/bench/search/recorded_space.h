// A kernel space of which every config is known: read from a gzipped JSON file of the Auto-Tuning
// Association's benchmark hub, or made. Replays measure it in the place of a device. Immutable.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "server/search/candidate_source.h"
#include "server/search/search_constants.h"

namespace mlc::bench {

class RecordedSpace {
 public:
  struct Row {
    double ns = 0;              // 0: the config fails
    double estimate_ns = 0;     // of an analytic model; 0: there is none
    std::vector<float> timing;  // single timings as multiples of `ns`; empty: no noise
  };
  using Rows = std::map<server::Point, Row>;
  // By knob, its values.
  using Domains = std::vector<std::vector<double>>;

  // What is withheld from the search.
  struct Blind {
    bool estimates = false;  // all estimates are alike
    bool features = false;   // the models see one constant column, so that trees cannot split
  };

  // NOT_FOUND or DATA_LOSS for a file that is no recorded space.
  static Result<std::shared_ptr<const RecordedSpace>> Read(const std::string& path);
  // REQUIRES: a config succeeds, and every point of the rows is on the grid of the domains.
  RecordedSpace(std::string problem, std::string device, Domains domains, Rows rows);
  virtual ~RecordedSpace() = default;

  const std::string& problem() const { return problem_; }
  const std::string& device() const { return device_; }
  bool Has(const server::Point& point) const { return rows_.contains(point); }
  // REQUIRES: Has(point).
  const Row& At(const server::Point& point) const { return rows_.at(point); }
  const Rows& rows() const { return rows_; }
  const std::vector<uint16_t>& radix() const { return radix_; }
  const Domains& domains() const { return domains_; }
  // The config to start from; the first one, if not set.
  const server::Point& start() const { return start_; }
  // The same space written down otherwise: the order of the values of some knobs is reversed, alike
  // for spaces of the same domains and seed, and it starts from any config that succeeds.
  std::shared_ptr<const RecordedSpace> Rearranged(uint64_t seed) const;
  // Time of the fastest config.
  double best_ns() const { return best_ns_; }

  // The space as the search sees it; it borrows the space. Failing configs are legal, and the
  // default is start().
  virtual std::unique_ptr<server::CandidateSource> Source(Blind blind) const;
  // The point of a candidate of the source.
  virtual server::Point KeyOf(const server::PointRef& ref) const { return ref.point; }
  // Tries of the search for its first candidates.
  virtual size_t sample_draws() const { return server::SearchConstants().sample_draws; }
  // A trial reports the median of so many of the recorded timings.
  virtual int timings_of_trial() const { return 5; }

 private:
  std::string problem_, device_;
  Domains domains_;
  std::vector<uint16_t> radix_;
  Rows rows_;
  server::Point start_;
  double best_ns_ = 0;
};

// A row from milliseconds: the time that counts, and single timings.
RecordedSpace::Row TimedRow(double ms, const std::vector<double>& timings_ms, double estimate_ns);

using SpaceRef = std::shared_ptr<const RecordedSpace>;

// The text of a gzipped file, and what its name PROBLEM_DEVICE.json.gz says.
struct SpaceFile {
  std::string text, problem, device;
};
Result<SpaceFile> ReadSpaceFile(const std::string& path);

}  // namespace mlc::bench
