// Runs the roles of a block in turn, one at a time: each goes on until it has to wait for another.
// Every role has a thread of its own for its place in the kernel, but no two run at once, so that
// they share the machine without locks. One object serves one Run.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

namespace mlc::ir {

class RoleTurns {
 public:
  // Runs all; returns when the last has ended. `role` gets its number.
  void Run(size_t count, const std::function<void(size_t role)>& role);
  // From a role: lets others go on. `changes` counts what a waiting role may wait for; false at
  // once if nothing has changed since any other role began to wait: all wait for ever.
  bool Pass(int64_t changes);
  size_t current() const { return current_; }

 private:
  struct Place {
    bool ended = false;
    int64_t waits_since = -1;  // of `changes`; -1: does not wait
  };

  bool Choose(int64_t changes);  // the next role that may go on becomes current

  std::vector<Place> places_;
  size_t current_ = 0;
  std::mutex mutex_;  // passes current_ on, with everything that the roles share
  std::condition_variable turned_;
};

}  // namespace mlc::ir
