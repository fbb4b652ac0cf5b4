// The quota file, reread when it changes. Thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/followed_file.h"
#include "base/mutex.h"
#include "server/jobs/quotas.h"

namespace mlc::server {

class QuotasFile {
 public:
  // Errors of ReadFileText and Quotas::Parse.
  static Result<std::unique_ptr<QuotasFile>> Open(const std::string& path);

  Quotas quotas() const;
  // Rereads the file if it changed, and calls `use` with the new quotas. After an error the old
  // quotas stay in force, and each call returns the error until the file is usable.
  Status Refresh(transport::Look look, const std::function<void(const Quotas&)>& use);

 private:
  // A partly written JSON object does not parse, so the file need not settle.
  explicit QuotasFile(std::string path) : file_("--quotas", std::move(path), /*settles=*/false) {}

  mutable Mutex mutex_;
  transport::FollowedFile file_ MLC_GUARDED_BY(mutex_);
  Quotas quotas_ MLC_GUARDED_BY(mutex_);
};

}  // namespace mlc::server
