// Results that the server has not acknowledged yet, kept in a file, so that a worker that is killed
// sends them when it is back. The file is only appended to: a result, or that one is forgotten;
// each entry with a digest. A torn or damaged tail is cut off when the file is opened, and the file
// is rewritten when most of it is history. Entries are meant for the same build of the program. Not
// thread-safe.
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

  // Creates the file if it is missing. ABORTED if another process has it open, PERMISSION_DENIED or
  // UNAVAILABLE if it cannot be written; DATA_LOSS if it is no spool.
  static Result<std::unique_ptr<Spool>> Open(const std::string& path,
                                             int64_t most_bytes = kMaxBytes);
  ~Spool();
  Spool(const Spool&) = delete;
  Spool& operator=(const Spool&) = delete;

  // What is in the file and not forgotten.
  std::vector<TrialResult> results() const;
  // Bytes of the tail that was no whole entry when the file was opened.
  int64_t cut_bytes() const { return cut_bytes_; }

  // Noted, and written by the next Sync. A result beyond the bound is not: it lives as long as the
  // worker.
  void Add(const TrialResult& result);
  void Forget(const Digest& uid);
  // Writes what was noted; results, not what is forgotten, also reach the disk. RESOURCE_EXHAUSTED
  // or UNAVAILABLE if that fails: it is tried again with the next one.
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
  bool has_results_ = false;  // among the unwritten
  std::string unwritten_;
  std::map<Digest, std::string> live_;  // the entries of results
};

}  // namespace mlc::worker
