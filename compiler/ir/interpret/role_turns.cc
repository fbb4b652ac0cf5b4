#include "compiler/ir/interpret/role_turns.h"

#include <thread>

namespace mlc::ir {

void RoleTurns::Run(size_t count, const std::function<void(size_t role)>& role) {
  places_.assign(count, {});
  current_ = 0;
  std::vector<std::thread> threads;
  threads.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    threads.emplace_back([this, &role, i] {
      {
        std::unique_lock lock(mutex_);
        turned_.wait(lock, [&] { return current_ == i; });
      }
      role(i);
      const std::lock_guard lock(mutex_);
      places_[i].ended = true;
      // Those who still wait find out themselves when they are to wait for ever.
      Choose(-1);
      turned_.notify_all();
    });
  }
  for (std::thread& thread : threads) thread.join();
}

bool RoleTurns::Choose(int64_t changes) {
  for (size_t i = 1; i <= places_.size(); ++i) {
    const size_t next = (current_ + i) % places_.size();
    if (places_[next].ended) continue;
    if (changes >= 0 && places_[next].waits_since == changes) continue;
    current_ = next;
    return true;
  }
  return false;
}

bool RoleTurns::Pass(int64_t changes) {
  std::unique_lock lock(mutex_);
  const size_t self = current_;
  places_[self].waits_since = changes;
  if (!Choose(changes)) return false;
  turned_.notify_all();
  turned_.wait(lock, [&] { return current_ == self; });
  return true;
}

}  // namespace mlc::ir
