// Collects what builds asked a server for and its log has no record of, and adds it to the log's
// list of untuned workloads. Thread-safe.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"

namespace mlc::server {

class UntunedNotes {
 public:
  // `path`: of the log. Borrows the clock.
  UntunedNotes(std::string path, const Clock& clock) : path_(std::move(path)), clock_(clock) {}

  // Only takes a note. `workload`: canonical text; `target`: class text.
  void Add(const std::string& workload, const std::string& target) MLC_EXCLUDES(mutex_);
  // Writes what was noted; call it from time to time. Errors of db::NoteUntuned, with which the
  // notes are lost.
  Status Flush() MLC_EXCLUDES(mutex_);

 private:
  // By workload and target: how many builds, and when the last one asked.
  struct Wanted {
    int64_t builds = 0;
    int64_t last_us = 0;
  };

  const std::string path_;
  const Clock& clock_;
  Mutex mutex_;
  std::map<std::pair<std::string, std::string>, Wanted> wanted_ MLC_GUARDED_BY(mutex_);
};

}  // namespace mlc::server
