// Records which candidates of a task were tried and which are in progress. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

namespace mlc::server {

class TriedCandidates {
 public:
  // True if the candidate is neither tried nor in progress.
  bool Free(int candidate) const {
    const auto place = static_cast<size_t>(candidate);
    return place >= tried_.size() || tried_[place] == 0;
  }
  void SetTried(int candidate, bool tried) {
    const auto place = static_cast<size_t>(candidate);
    if (place >= tried_.size()) tried_.resize(place + 1, 0);
    tried_[place] = tried ? 1 : 0;
  }
  // Begin and End of a trial of the candidate. It stays tried after End.
  void Begin(int candidate) {
    SetTried(candidate, true);
    under_way_.insert(candidate);
  }
  void End(int candidate) { under_way_.erase(candidate); }
  const std::set<int>& under_way() const { return under_way_; }
  int64_t count_under_way() const { return static_cast<int64_t>(under_way_.size()); }

 private:
  std::vector<char> tried_;
  std::set<int> under_way_;
};

}  // namespace mlc::server
