// The TLS files of a program, followed while it runs: when they change, the new ones are checked
// and, only if they are sound, handed to gRPC, for connections from then on. A certificate can so
// be renewed under load, and a half-written or expired one never replaces one that works.
//
// gRPC reads certificates from files, at its own times, and serves a key with another's certificate
// if it reads in the wrong moment. So it reads copies, in memory, that are replaced as a whole.
// Thread-safe; has a thread of its own.
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
  // Hears of every replacement, OK and a description; why the old ones stay, at every look, twice a
  // second; and when they are sound again.
  using Heard = std::function<void(const Status& status, const std::string& description)>;

  // Errors of ReadTls.
  static Result<std::unique_ptr<TlsFiles>> Open(TlsPaths paths, Heard heard);
  ~TlsFiles();

  // What gRPC is given to read, as long as this lives.
  std::string pair_path() const;  // key and certificates; empty without a certificate
  std::string authority_path() const;
  const TlsPaths& paths() const { return paths_; }
  std::string description() const;
  int64_t expires_s() const;
  // Looks at the files now. An error leaves everything as it was.
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
  TlsTexts seen_;  // by the last look that found them sound
  bool sound_ = true;
  int pair_ = -1;  // descriptors of memory files; their numbers never change
  int authority_ = -1;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace mlc::transport
