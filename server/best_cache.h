// Answers about the best configs of workloads, kept until a result of the workload is committed
// that may change them: builds ask the same again and again, and an answer takes the reading of
// dozens of records. Thread-safe.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

#include "compiler/base/digest.h"
#include "compiler/base/status.h"
#include "proto/tuner.pb.h"

namespace mlc::server {

class BestCache {
 public:
  struct Answer {
    proto::BestConfig best;
    double holds_above_ns = std::numeric_limits<double>::infinity();  // see db::BestFound
  };

  // The answer to `question` about the workload; `ask` finds one that is not kept. What changes
  // while it asks is not kept: the next one asks again.
  template <typename Ask>
  Result<proto::BestConfig> Get(const Digest& workload, const std::string& question,
                                const Ask& ask) {
    std::pair<uint64_t, uint64_t> version;
    {
      std::lock_guard lock(mutex_);
      if (entries_.size() >= kMostKept || kept_ >= kMostKept) Forget();
      const Entry& entry = entries_[workload];
      const auto found = entry.answers.find(question);
      if (found != entry.answers.end()) return found->second.best;
      version = {forgotten_, entry.version};
    }
    Answer answer = MLC_TRY(ask());
    std::lock_guard lock(mutex_);
    Entry& entry = entries_[workload];
    const bool large = answer.best.ByteSizeLong() > kMostBytes;
    if (large || version != std::pair(forgotten_, entry.version)) return std::move(answer.best);
    if (entry.answers.insert_or_assign(question, answer).second) ++kept_;
    return std::move(answer.best);
  }
  // There is a new correct record of the workload with this time; 0 if no answer holds against it.
  // REQUIRES: it can be read already.
  void Changed(const Digest& workload, double median_ns) {
    std::lock_guard lock(mutex_);
    const auto entry = entries_.find(workload);
    if (entry == entries_.end()) return;
    ++entry->second.version;
    kept_ -= std::erase_if(entry->second.answers, [&](const auto& answer) {
      return median_ns <= answer.second.holds_above_ns;
    });
  }

 private:
  struct Entry {
    uint64_t version = 0;
    std::map<std::string, Answer> answers;
  };
  struct Hash {
    size_t operator()(const Digest& digest) const { return digest.low; }
  };
  // Some 10 MiB.
  static constexpr size_t kMostKept = 20'000;
  // Longer answers, with sources of kernels, are read again each time.
  static constexpr size_t kMostBytes = 32'768;

  void Forget() {
    ++forgotten_;
    entries_.clear();
    kept_ = 0;
  }

  std::mutex mutex_;
  std::unordered_map<Digest, Entry, Hash> entries_;
  size_t kept_ = 0;         // answers
  uint64_t forgotten_ = 0;  // times
};

}  // namespace mlc::server
