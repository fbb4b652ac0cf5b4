// Certificates that were revoked before they ended: a list in a PEM file, signed by the authority
// that signed them. Looked at before every call, so it also ends what connections of old may do.
// The file is followed while the server runs. Thread-safe. Needs OpenSSL.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "compiler/base/status.h"

namespace mlc::server {

class Revocations {
 public:
  // `authority` is the PEM file of those who may sign the list. NOT_FOUND; INVALID_ARGUMENT for
  // what is no list, or one that none of them has signed.
  static Result<std::unique_ptr<Revocations>> Open(const std::string& path,
                                                   const std::string& authority);

  // UNAUTHENTICATED for a certificate (PEM) on the list, or one that cannot be read.
  Status Check(std::string_view certificate) const;
  // Reads the file again if it has changed. An error leaves the old list in force.
  Status Refresh();
  size_t size() const;

 private:
  using Serials = std::set<std::string>;  // of issuer and serial number
  Revocations(std::string path, std::string authority)
      : path_(std::move(path)), authority_(std::move(authority)) {}
  Result<Serials> Read() const;

  const std::string path_;
  const std::string authority_;
  mutable std::mutex mutex_;
  Serials revoked_;
  std::string stamp_;
  // What was found out of certificates: callers are few, and call often.
  mutable std::map<std::string, std::string, std::less<>> serial_of_;
};

}  // namespace mlc::server
