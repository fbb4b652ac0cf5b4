// The file of quotas, followed while a server runs. Thread-safe.
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
  // Looks at the file; `use` runs with new quotas. An error leaves the old ones in force, and comes
  // at every look until the file can be used.
  Status Refresh(transport::Look look, const std::function<void(const Quotas&)>& use);

 private:
  // A part of a JSON object is none.
  explicit QuotasFile(std::string path) : file_("--quotas", std::move(path), /*settles=*/false) {}

  mutable Mutex mutex_;
  transport::FollowedFile file_ MLC_GUARDED_BY(mutex_);
  Quotas quotas_ MLC_GUARDED_BY(mutex_);
};

}  // namespace mlc::server
