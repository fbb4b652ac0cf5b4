// The measured times of a task's candidates, single and confirmed, and the best candidate. The
// fastest of many single times is partly measurement noise. The leaders are therefore measured
// again in one interleaved group, and these confirmed times take precedence over single ones.
// Deterministic; not thread-safe.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "db/confirmed_times.h"

namespace mlc::server {

class CandidateTimes {
 public:
  // Adds a correct trial. `confirms`: it was measured in a group with other leaders.
  void Add(int candidate, double ns, bool confirms);
  // Removes a candidate that failed. A candidate that fails once is never the best one.
  void Drop(int candidate);

  bool empty() const { return timed_.empty(); }
  bool Has(int candidate) const { return timed_.contains(candidate); }
  // The best candidate and its time; -1 and 0 if there is none.
  int best() const { return best_; }
  double best_ns() const { return best_ns_; }
  // True if the best candidate was measured in a group with other leaders.
  bool best_is_confirmed() const;
  // The candidate's time, scaled as well as possible to be comparable with best_ns(); 0 without a
  // time.
  double ComparableNs(int candidate) const;
  // The mean of the single times, from which models learn: it is of the same kind for all
  // candidates. REQUIRES: the candidate has a time.
  double SingleNs(int candidate) const { return timed_.at(candidate).single(); }
  // All candidates with a time, in order of number.
  std::vector<int> All() const;
  std::vector<int> Fastest(size_t count) const;
  // Leaders whose order is not confirmed; fastest first.
  std::vector<int> Unconfirmed(size_t most) const;

 private:
  // Means of the measurements.
  struct Timed {
    db::ConfigTimes means;
    int singles = 0, confirmations = 0;
    void Add(double ns, bool confirms);
    bool confirmed() const { return confirmations > 0; }
    double mean() const { return confirmed() ? means.confirmed_ns : means.single_ns; }
    double single() const { return singles > 0 ? means.single_ns : means.confirmed_ns; }
  };

  double Weighed(const Timed& timed) const { return db::Weighed(timed.means, unconfirmed_factor_); }
  void FindBest();

  std::map<int, Timed> timed_;
  double unconfirmed_factor_ = db::kLeastUnconfirmedFactor;
  int best_ = -1;
  double best_ns_ = 0;
};

}  // namespace mlc::server
