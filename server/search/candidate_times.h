// What was measured of a task's candidates, alone and side by side with other leaders, and which is
// the best. The fastest of many single times is in part measurement noise, so the leaders are
// measured again side by side, and what was so measured counts more than what was not.
// Deterministic; not thread-safe.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "db/confirmed_times.h"

namespace mlc::server {

class CandidateTimes {
 public:
  // A correct trial; `confirms`: side by side with other leaders.
  void Add(int candidate, double ns, bool confirms);
  // It has failed: a candidate that fails even once is not a best one.
  void Drop(int candidate);

  bool empty() const { return timed_.empty(); }
  bool Has(int candidate) const { return timed_.contains(candidate); }
  // -1 and 0 for none.
  int best() const { return best_; }
  double best_ns() const { return best_ns_; }
  // It was compared with other leaders.
  bool best_is_confirmed() const;
  // As comparable to best_ns() as is known; 0 if it has no time.
  double ComparableNs(int candidate) const;
  // What models learn from: single times of all candidates are alike. REQUIRES: it has a time.
  double SingleNs(int candidate) const { return timed_.at(candidate).single(); }
  // All that have a time, in order of number.
  std::vector<int> All() const;
  std::vector<int> Fastest(size_t count) const;
  // Leaders whose order is not confirmed, fastest first.
  std::vector<int> Unconfirmed(size_t most) const;

 private:
  // Means of what was measured.
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
