// Which worker was given which trial, so that no worker finishes another's. Held for workers that
// are told apart, in memory: after a restart nobody knows, and a result of a trial that was given
// to nobody is as good as ever. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>

#include "compiler/base/digest.h"

namespace mlc::server {

class Grants {
 public:
  // Remembers the newest `most` trials.
  explicit Grants(size_t most = 200'000) : most_(most) {}

  void Give(const std::string& uid, const std::string& worker);
  // The trial was given to this worker, maybe among others, or to nobody.
  bool MayFinish(const std::string& uid, const std::string& worker) const;

 private:
  struct Hash {
    size_t operator()(const Digest& digest) const { return digest.low; }
  };

  const size_t most_;
  mutable std::mutex mutex_;
  std::map<std::string, uint32_t> workers_;  // and their numbers
  // By digests of uids and with numbers of workers: some 70 bytes a trial. The first worker of
  // each; the others of the few trials that were given again stand apart.
  std::unordered_map<Digest, uint32_t, Hash> first_;
  std::map<Digest, std::set<uint32_t>> others_;
  std::deque<Digest> order_;
};

}  // namespace mlc::server
