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

#include "base/followed_file.h"
#include "base/status.h"
#include "base/tls/certificates.h"

namespace mlc::transport {

class Revocations {
 public:
  // `paths` has the list, and the authority of those who may sign it; `refusal` is what those on it
  // are told. Errors of ReadFileText; INVALID_ARGUMENT for what is no list, a damaged one, or one
  // that none of them has signed.
  static Result<std::unique_ptr<Revocations>> Open(const TlsPaths& paths, std::string refusal);

  // UNAUTHENTICATED, with the refusal, for a certificate (PEM) on the list, or one that cannot be
  // read.
  Status Check(std::string_view certificate) const;
  // Looks at the file. An error leaves the old list in force; so does the loss of an authority's
  // list that was there, which would give its revoked certificates back.
  Status Refresh(Look look);
  // How often the list was read.
  int64_t taken() const;
  size_t size() const;

 private:
  struct List {
    std::set<std::string> serials;  // of issuer and serial number
    std::set<std::string> signers;  // their keys
  };
  Revocations(const TlsPaths& paths, std::string refusal)
      : authority_(paths.authority),
        refusal_(std::move(refusal)),
        // A part of a list has no valid signature.
        file_("--tls-crl", paths.revoked, /*settles=*/false) {}
  Result<List> Parse(const std::string& text) const;

  const std::string authority_;
  const std::string refusal_;
  mutable std::mutex file_mutex_;  // before the other one
  FollowedFile file_;
  mutable std::mutex mutex_;
  List revoked_;
  // What was found out of certificates: callers are few, and call often.
  mutable std::map<std::string, std::string, std::less<>> serial_of_;
};

}  // namespace mlc::transport
