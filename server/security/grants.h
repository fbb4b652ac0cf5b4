// Records which worker was given which trial, so that a worker cannot finish a trial of another
// one. Used for authenticated workers. The table is in memory: after a restart it is empty, and the
// server accepts results of trials that it does not know. Thread-safe.
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
  // True if the trial was given to this worker, or to no known worker.
  bool MayFinish(const std::string& uid, const std::string& worker) const MLC_EXCLUDES(mutex_);
  // The number of workers that the remembered trials were given to.
  size_t workers() const MLC_EXCLUDES(mutex_);

 private:
  struct Hash {
    size_t operator()(const Digest& digest) const { return digest.low; }
  };

  const size_t most_;
  using Workers = std::map<std::string, int64_t>;  // and of how many of the trials they are known
  using Worker = const Workers::value_type*;
  // Decrements the trials of the worker.
  void Release(const std::string& worker) MLC_REQUIRES(mutex_);

  mutable Mutex mutex_;
  Workers workers_ MLC_GUARDED_BY(mutex_);
  // By digests of uids; about 70 bytes per trial. The first worker of each trial; further workers
  // of the few trials that were given out again are stored separately.
  std::unordered_map<Digest, Worker, Hash> first_ MLC_GUARDED_BY(mutex_);
  std::map<Digest, std::set<Worker>> others_ MLC_GUARDED_BY(mutex_);
  std::deque<Digest> order_ MLC_GUARDED_BY(mutex_);
};

}  // namespace mlc::server
