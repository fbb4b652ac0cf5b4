// Revoked certificates: a list in a PEM file, signed by the authority that signed them. A server
// checks it before every call, so it also ends what old connections may do; a client checks it at
// every handshake. Thread-safe. Uses OpenSSL.
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
  // `paths` names the list and the authority that may sign it. Callers with a certificate on the
  // list get `refusal` as their error. Errors of ReadFileText; INVALID_ARGUMENT if the file is not
  // a list, is damaged, or is not signed by the authority.
  static Result<std::unique_ptr<Revocations>> Open(const TlsPaths& paths, std::string refusal);

  // UNAUTHENTICATED, with the refusal, for a certificate (PEM) on the list, or one that cannot be
  // read.
  Status Check(std::string_view certificate) const;
  // Reads the file again if it changed. On an error the old list stays in force. It also stays if
  // the list of an authority disappears, because its revoked certificates would become valid again.
  Status Refresh(Look look);
  // Number of lists that were taken.
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
        // A partly written list has no valid signature, so the file need not settle.
        file_("--tls-crl", paths.revoked, /*settles=*/false) {}
  Result<List> Parse(const std::string& text) const;

  const std::string authority_;
  const std::string refusal_;
  mutable std::mutex file_mutex_;  // before the other one
  FollowedFile file_;
  mutable std::mutex mutex_;
  List revoked_;
  // Serial numbers of certificates that were checked before: there are few callers, and they call
  // often.
  mutable std::map<std::string, std::string, std::less<>> serial_of_;
};

}  // namespace mlc::transport
