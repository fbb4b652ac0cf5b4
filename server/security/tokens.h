// The bearer tokens that a server accepts, as SHA-256 digests: a reader of the file cannot use
// them. Each line is one token:
//
//   <64 hexadecimal digits> ROLE/NAME [YYYY-MM-DD]
//
// The date is the last day of validity. Empty lines and lines that begin with '#' are skipped. Each
// line must end with a newline, because a truncated identity could be a different, valid one. To
// revoke a token, remove its line; the server rereads the file while it runs. Thread-safe.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/followed_file.h"
#include "base/mutex.h"
#include "server/security/caller.h"

namespace mlc::server {

// The SHA-256 digest as lower-case hexadecimal digits.
std::string TokenDigest(std::string_view token);

class Tokens {
 public:
  // Errors of ReadFileText; INVALID_ARGUMENT with file and line.
  static Result<std::unique_ptr<Tokens>> Open(const std::string& path);

  // The caller of the token. UNAUTHENTICATED for an unknown or expired token. `today`: days since
  // 1970-01-01, UTC.
  Result<Caller> Find(std::string_view token, int64_t today) const;
  // The same for the digest of a token, for callers that store no tokens.
  Result<Caller> FindDigest(std::string_view digest, int64_t today) const;
  // Rereads the file if it changed and has settled (FollowedFile). After an error the old tokens
  // stay in force.
  Status Refresh(transport::Look look);
  // How often the file was read successfully.
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
