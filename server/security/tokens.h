// Bearer tokens that a server takes, by their SHA-256 digests: who reads the file can call nobody.
// One line a token:
//
//   <64 hexadecimal digits> ROLE/NAME [YYYY-MM-DD]
//
// with the last day on which it is good. Empty lines and lines that begin with '#' are skipped.
// A token is revoked by taking its line out; the file is followed while the server runs.
// Thread-safe.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "server/security/caller.h"

namespace mlc::server {

// Lower case hexadecimal digits of the SHA-256 digest.
std::string TokenDigest(std::string_view token);

class Tokens {
 public:
  // NOT_FOUND; INVALID_ARGUMENT with file and line.
  static Result<std::unique_ptr<Tokens>> Open(const std::string& path);

  // UNAUTHENTICATED for an unknown or an expired token. `today` is days since 1970-01-01, UTC.
  Result<Caller> Find(std::string_view token, int64_t today) const;
  // Reads the file again if it has changed. An error leaves the old tokens in force.
  Status Refresh();
  size_t size() const;

 private:
  struct Entry {
    std::string digest;
    Caller caller;
    int64_t last_day = 0;
  };
  explicit Tokens(std::string path) : path_(std::move(path)) {}
  static Result<std::vector<Entry>> Read(const std::string& path);
  static Result<Entry> ParseLine(const std::string& line);

  const std::string path_;
  mutable std::mutex mutex_;
  std::vector<Entry> entries_;
  std::string stamp_;  // tells one state of the file from another
};

}  // namespace mlc::server
