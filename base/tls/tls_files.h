// The TLS files of a program, followed while it runs. If they change, the new ones are checked and,
// only if they are valid, given to gRPC for later connections. So a certificate can be renewed
// under load, and a half-written or expired one never replaces one that works.
//
// gRPC reads certificates from files at times of its own, and would use a key with another
// certificate if it read between two writes. So it reads copies in memory, which are replaced as a
// whole. Thread-safe; has a thread of its own.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "base/status.h"
#include "base/tls/certificates.h"

namespace mlc::transport {

class TlsFiles {
 public:
  // Called with OK and a description after every replacement; with the reason at every check (twice
  // a second) while the new files are invalid; and with OK when they are valid again.
  using Heard = std::function<void(const Status& status, const std::string& description)>;

  // Errors of ReadTls.
  static Result<std::unique_ptr<TlsFiles>> Open(TlsPaths paths, Heard heard);
  ~TlsFiles();

  // The paths that gRPC reads; valid as long as this object lives.
  std::string pair_path() const;  // key and certificates; empty without a certificate
  std::string authority_path() const;
  const TlsPaths& paths() const { return paths_; }
  std::string description() const;
  int64_t expires_s() const;
  // Checks the files now. An error changes nothing.
  Status Reload();

 private:
  TlsFiles(TlsPaths paths, Heard heard) : paths_(std::move(paths)), heard_(std::move(heard)) {}
  Status Take(bool settled);
  Status Replace(const TlsTexts& texts);
  void Follow();

  const TlsPaths paths_;
  const Heard heard_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  TlsTexts texts_;
  TlsTexts seen_;  // of the last valid read
  bool sound_ = true;
  int pair_ = -1;  // descriptors of memory files; their numbers never change
  int authority_ = -1;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace mlc::transport
