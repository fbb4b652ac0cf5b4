// Reports of jobs for everyone who asks: one is made at a time, and kept for a while, so that
// callers cannot have the server make them for ever. Thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/clock.h"
#include "base/mutex.h"
#include "server/page/source.h"

namespace mlc::server::page {

class Reports {
 public:
  // Borrows both.
  Reports(const PageSource& source, const Clock& clock) : source_(source), clock_(clock) {}

  // Errors of the source, which are kept, too. One that was made while the job was running is not
  // kept beyond its end.
  Result<html::Markup> Of(const std::string& job) MLC_EXCLUDES(mutex_);

 private:
  struct Made {
    Result<html::Markup> report;
    int64_t until_ms = 0;
    bool is_final = false;
  };
  const PageSource& source_;
  const Clock& clock_;
  Mutex mutex_;
  std::map<std::string, Made> made_ MLC_GUARDED_BY(mutex_);
};

}  // namespace mlc::server::page
