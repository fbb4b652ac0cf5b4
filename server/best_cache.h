// Answers about the best configs of workloads, kept until a result of the workload is committed:
// builds ask the same again and again, and an answer takes the reading of dozens of records.
// Thread-safe.
#pragma once

#include <cstdint>
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
      if (found != entry.answers.end()) return found->second;
      version = {forgotten_, entry.version};
    }
    proto::BestConfig answer = MLC_TRY(ask());
    std::lock_guard lock(mutex_);
    Entry& entry = entries_[workload];
    if (version != std::pair(forgotten_, entry.version)) return answer;
    if (entry.answers.insert_or_assign(question, answer).second) ++kept_;
    return answer;
  }
  // There is a new record of the workload. REQUIRES: it can be read already.
  void Changed(const Digest& workload) {
    std::lock_guard lock(mutex_);
    const auto entry = entries_.find(workload);
    if (entry == entries_.end()) return;
    ++entry->second.version;
    kept_ -= entry->second.answers.size();
    entry->second.answers.clear();
  }

 private:
  struct Entry {
    uint64_t version = 0;
    std::map<std::string, proto::BestConfig> answers;
  };
  struct Hash {
    size_t operator()(const Digest& digest) const { return digest.low; }
  };
  // Some 10 MiB.
  static constexpr size_t kMostKept = 20'000;

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
