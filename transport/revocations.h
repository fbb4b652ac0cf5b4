// Certificates that were revoked before they ended: a list in a PEM file, signed by the authority
// that signed them. Servers ask it before every call, so it also ends what connections of old may
// do; clients at every handshake. Thread-safe. Needs OpenSSL.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "compiler/base/status.h"
#include "transport/certificates.h"

namespace mlc::transport {

class Revocations {
 public:
  // `paths` has the list, and the authority of those who may sign it; `refusal` is what those on it
  // are told. NOT_FOUND; INVALID_ARGUMENT for what is no list, or one that none of them has signed.
  static Result<std::unique_ptr<Revocations>> Open(const TlsPaths& paths, std::string refusal);

  // UNAUTHENTICATED, with the refusal, for a certificate (PEM) on the list, or one that cannot be
  // read.
  Status Check(std::string_view certificate) const;
  // Reads the file again if it has changed. An error leaves the old list in force.
  Status Refresh();
  size_t size() const;

 private:
  using Serials = std::set<std::string>;  // of issuer and serial number
  Revocations(const TlsPaths& paths, std::string refusal)
      : path_(paths.revoked), authority_(paths.authority), refusal_(std::move(refusal)) {}
  Result<Serials> Read() const;

  const std::string path_;
  const std::string authority_;
  const std::string refusal_;
  mutable std::mutex mutex_;
  Serials revoked_;
  std::string stamp_;
  // What was found out of certificates: callers are few, and call often.
  mutable std::map<std::string, std::string, std::less<>> serial_of_;
};

}  // namespace mlc::transport
