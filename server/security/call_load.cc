#include "server/security/call_load.h"

#include <utility>

namespace mlc::server {

CallLoad::Ticket::~Ticket() {
  std::lock_guard lock(load_.mutex_);
  Held& own = load_.held_[entry_->caller];
  load_.Part(own, entry_->bytes) -= entry_->bytes;
  load_.Part(load_.all_, entry_->bytes) -= entry_->bytes;
  if (--own.calls == 0) load_.held_.erase(entry_->caller);
  load_.entries_.erase(entry_);
}

Status CallLoad::Ticket::Resize(size_t bytes) {
  std::lock_guard lock(load_.mutex_);
  return load_.Reserve(*entry_, bytes);
}

void CallLoad::Ticket::Answered(int64_t now_ms, std::function<void()> end) {
  std::lock_guard lock(load_.mutex_);
  entry_->answered_ms = now_ms;
  entry_->end = std::move(end);
}

Result<std::unique_ptr<CallLoad::Ticket>> CallLoad::Take(const Caller& caller, size_t bytes) {
  std::lock_guard lock(mutex_);
  entries_.push_back({caller.name, caller.local, 0, -1, nullptr});
  ++held_[caller.name].calls;
  auto ticket = std::make_unique<Ticket>(*this, std::prev(entries_.end()));
  MLC_TRY(Reserve(entries_.back(), bytes));
  return ticket;
}

void CallLoad::Review(int64_t now_ms) {
  std::lock_guard lock(mutex_);
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    const auto late = entry++;
    if (late->end && now_ms - late->answered_ms >= limits_.longest_ms) {
      std::exchange(late->end, nullptr)();
    }
  }
}

size_t& CallLoad::Part(Held& held, size_t bytes) const {
  return bytes <= limits_.small_call ? held.small : held.large;
}

// REQUIRES mutex_.
Status CallLoad::Reserve(Entry& entry, size_t bytes) {
  Held& own = held_[entry.caller];
  const bool small = bytes <= limits_.small_call;
  // What it holds already counts only where it holds it.
  const size_t before = small == (entry.bytes <= limits_.small_call) ? entry.bytes : 0;
  const size_t of_one = small ? limits_.small_of_one : limits_.large_of_one;
  const size_t total = small ? limits_.small_total : limits_.large_total;
  // Local callers are one name, and many programs.
  if (!entry.local && Part(own, bytes) - before + bytes > of_one) {
    return ResourceExhausted("the calls of " + entry.caller +
                             " under way hold too much memory: make fewer at once, and read their "
                             "answers");
  }
  if (Part(all_, bytes) - before + bytes > total) {
    return ResourceExhausted("the calls under way hold too much memory: try again in a moment");
  }
  Part(own, entry.bytes) -= entry.bytes;
  Part(all_, entry.bytes) -= entry.bytes;
  Part(own, bytes) += bytes;
  Part(all_, bytes) += bytes;
  entry.bytes = bytes;
  return Status();
}

}  // namespace mlc::server
