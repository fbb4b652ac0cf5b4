// A file with the results that the server has not acknowledged, so that a worker that was killed
// sends them after its restart. The file is append-only: an entry adds or forgets a result and has
// a digest. Open cuts off a torn or damaged tail. If most of the file is obsolete, it is rewritten.
// Only the same build of the program can read the entries. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "worker/build/trial.h"

namespace mlc::worker {

class Spool {
 public:
  static constexpr int64_t kMaxBytes = int64_t{64} << 20;

  // Opens the file or creates it. ABORTED if another process has it open, PERMISSION_DENIED or
  // UNAVAILABLE if it cannot be written, DATA_LOSS if it is not a spool.
  static Result<std::unique_ptr<Spool>> Open(const std::string& path,
                                             int64_t most_bytes = kMaxBytes);
  ~Spool();
  Spool(const Spool&) = delete;
  Spool& operator=(const Spool&) = delete;

  // The results that are not forgotten.
  std::vector<TrialResult> results() const;
  // Bytes of the damaged tail that Open cut off.
  int64_t cut_bytes() const { return cut_bytes_; }

  // Adds a result; the next Sync writes it. A result beyond the size limit is kept in memory only.
  void Add(const TrialResult& result);
  void Forget(const Digest& uid);
  // Writes the pending entries, and flushes results to the disk. RESOURCE_EXHAUSTED or UNAVAILABLE
  // if that fails; the next Sync tries again.
  Status Sync();

 private:
  Spool(std::string path, int fd, int64_t most_bytes)
      : path_(std::move(path)), most_bytes_(most_bytes), fd_(fd) {}
  Status Load();
  Status Rewrite();

  const std::string path_;
  const int64_t most_bytes_;
  int fd_;
  int64_t file_bytes_ = 0;
  int64_t live_bytes_ = 0;
  int64_t cut_bytes_ = 0;
  bool has_results_ = false;  // among the pending entries
  std::string unwritten_;
  std::map<Digest, std::string> live_;  // the entries of results
};

}  // namespace mlc::worker
