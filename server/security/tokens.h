// Bearer tokens that a server takes, by their SHA-256 digests: a reader of the file cannot use
// them. One line a token:
//
//   <64 hexadecimal digits> ROLE/NAME [YYYY-MM-DD]
//
// with the last day on which it is good. Empty lines and lines that begin with '#' are skipped.
// Each line has an end: a file that was written in part could else make one identity another. A
// token is revoked by taking its line out; the file is followed while the server runs. Thread-safe.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/followed_file.h"
#include "base/mutex.h"
#include "server/security/caller.h"

namespace mlc::server {

// Lower case hexadecimal digits of the SHA-256 digest.
std::string TokenDigest(std::string_view token);

class Tokens {
 public:
  // Errors of ReadFileText; INVALID_ARGUMENT with file and line.
  static Result<std::unique_ptr<Tokens>> Open(const std::string& path);

  // UNAUTHENTICATED for an unknown or an expired token. `today` is days since 1970-01-01, UTC.
  Result<Caller> Find(std::string_view token, int64_t today) const;
  // The same of a token's digest, for those who keep no tokens.
  Result<Caller> FindDigest(std::string_view digest, int64_t today) const;
  // Looks at the file, which settles (FollowedFile). An error leaves the old tokens in force.
  Status Refresh(transport::Look look);
  // How often the tokens were read.
  int64_t taken() const;
  size_t size() const;

 private:
  struct Entry {
    std::string digest;
    Caller caller;
    int64_t last_day = 0;
  };
  explicit Tokens(std::string path) : file_("--tokens", std::move(path), /*settles=*/true) {}
  static Result<std::vector<Entry>> Parse(const std::string& path, const std::string& text);
  static Result<Entry> ParseLine(const std::string& line);

  mutable Mutex file_mutex_ MLC_ACQUIRED_BEFORE(mutex_);
  transport::FollowedFile file_ MLC_GUARDED_BY(file_mutex_);
  mutable Mutex mutex_;
  std::vector<Entry> entries_ MLC_GUARDED_BY(mutex_);
};

}  // namespace mlc::server
