// Caches the best configs of workloads until a committed result of the workload may change them.
// Builds repeat their questions, and one answer takes the reading of dozens of records. The cache
// has a fixed memory bound, whatever callers ask. Thread-safe.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/digest.h"
#include "base/mutex.h"
#include "base/status.h"
#include "server/jobs/best_answer.h"

namespace mlc::server {

class BestCache {
 public:
  struct Answer {
    BestConfig best;
    double holds_above_ns = std::numeric_limits<double>::infinity();  // see db::BestFound
  };

  // A number for the question, so that its text is stored once and not for each workload. It is not
  // a digest, because a caller could find two questions with the same digest.
  uint64_t NumberOf(const std::string& question) MLC_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    const auto found = questions_.find(question);
    if (found != questions_.end()) return found->second;
    if (bytes_ + question.size() >= kMostBytes) Forget();
    bytes_ += question.size() + sizeof(Entry);
    return questions_.emplace(question, ++numbers_).first->second;
  }
  // Returns the cached answer to the question about the workload, or calls `ask` for it. If the
  // workload changes while `ask` runs, the answer is not cached.
  template <typename Ask>
  Result<BestConfig> Get(const Digest& workload, uint64_t question, const Ask& ask)
      MLC_EXCLUDES(mutex_) {
    std::pair<uint64_t, uint64_t> version;
    {
      const MutexLock lock(mutex_);
      if (entries_.size() >= kMostKept || kept_ >= kMostKept || bytes_ >= kMostBytes) Forget();
      const Entry& entry = entries_[workload];
      const auto found = entry.answers.find(question);
      if (found != entry.answers.end()) return found->second.answer.best;
      version = {forgotten_, entry.version};
    }
    Answer answer = MLC_TRY(ask());
    const MutexLock lock(mutex_);
    Entry& entry = entries_[workload];
    const size_t bytes = BytesOf(answer.best);
    const bool large = bytes > kMostBytesOfOne;
    if (large || version != std::pair(forgotten_, entry.version)) return std::move(answer.best);
    if (entry.answers.try_emplace(question, Kept{answer, bytes}).second) {
      ++kept_;
      bytes_ += bytes;
    }
    return std::move(answer.best);
  }
  // Drops the answers that a new correct record of the workload with this time may change; 0 drops
  // all. REQUIRES: readers of the log can see the record.
  void Changed(const Digest& workload, double median_ns) MLC_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    const auto entry = entries_.find(workload);
    if (entry == entries_.end()) return;
    ++entry->second.version;
    kept_ -= std::erase_if(entry->second.answers, [&](const auto& kept) MLC_REQUIRES(mutex_) {
      if (median_ns > kept.second.answer.holds_above_ns) return false;
      bytes_ -= kept.second.bytes;
      return true;
    });
  }

 private:
  struct Kept {
    Answer answer;
    size_t bytes = 0;
  };
  struct Entry {
    uint64_t version = 0;
    std::map<uint64_t, Kept> answers;  // by the question's number
  };
  struct Hash {
    size_t operator()(const Digest& digest) const { return digest.low; }
  };
  // About 10 MiB of typical answers.
  static constexpr size_t kMostKept = 20'000;
  static constexpr size_t kMostBytes = size_t{32} << 20;  // of all answers and questions
  // The cache does not keep longer answers, such as those with kernel sources.
  static constexpr size_t kMostBytesOfOne = 32'768;

  void Forget() MLC_REQUIRES(mutex_) {
    ++forgotten_;
    entries_.clear();
    questions_.clear();
    kept_ = 0;
    bytes_ = 0;
  }

  Mutex mutex_;
  std::unordered_map<Digest, Entry, Hash> entries_ MLC_GUARDED_BY(mutex_);
  size_t kept_ MLC_GUARDED_BY(mutex_) = 0;   // answers
  size_t bytes_ MLC_GUARDED_BY(mutex_) = 0;  // of them and of the questions
  std::map<std::string, uint64_t> questions_ MLC_GUARDED_BY(mutex_);
  uint64_t numbers_ MLC_GUARDED_BY(mutex_) = 0;    // given to questions, never twice
  uint64_t forgotten_ MLC_GUARDED_BY(mutex_) = 0;  // times
};

}  // namespace mlc::server
