// Which worker was given which trial, so that no worker finishes another's. Held for workers that
// are told apart, in memory: after a restart the table is empty, and a result of a trial that was
// given to no worker is accepted. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <unordered_map>

#include "base/digest.h"
#include "base/mutex.h"

namespace mlc::server {

class Grants {
 public:
  // Remembers the newest `most` trials.
  explicit Grants(size_t most = 200'000) : most_(most) {}

  void Record(const std::string& uid, const std::string& worker) MLC_EXCLUDES(mutex_);
  // The trial was given to this worker, maybe among others, or to no worker.
  bool MayFinish(const std::string& uid, const std::string& worker) const MLC_EXCLUDES(mutex_);
  // How many workers it knows: those of the trials that it remembers.
  size_t workers() const MLC_EXCLUDES(mutex_);

 private:
  struct Hash {
    size_t operator()(const Digest& digest) const { return digest.low; }
  };

  const size_t most_;
  using Workers = std::map<std::string, int64_t>;  // and of how many of the trials they are known
  using Worker = const Workers::value_type*;
  // One trial less of the worker.
  void Release(const std::string& worker) MLC_REQUIRES(mutex_);

  mutable Mutex mutex_;
  Workers workers_ MLC_GUARDED_BY(mutex_);
  // By digests of uids: some 70 bytes a trial. The first worker of each; the others of the few
  // trials that were given again stand apart.
  std::unordered_map<Digest, Worker, Hash> first_ MLC_GUARDED_BY(mutex_);
  std::map<Digest, std::set<Worker>> others_ MLC_GUARDED_BY(mutex_);
  std::deque<Digest> order_ MLC_GUARDED_BY(mutex_);
};

}  // namespace mlc::server
