// Reads, checks and explains certificates and keys in PEM files. Pure except for the clock and
// reading files. Thread-safe. Uses OpenSSL, as gRPC does.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"

namespace mlc::transport {

// The TLS files of a program. Servers need all three. Clients need the authority; they need
// certificate and key together or not at all.
struct TlsPaths {
  std::string certificate;   // PEM: the program's own, then intermediate ones
  std::string key;           // PEM, not encrypted, unreadable to other users
  std::string authority;     // PEM: signs the certificates of the other side
  std::string revoked = {};  // PEM: list of the other side's revoked ones; empty: not checked
  bool empty() const { return certificate.empty() && key.empty() && authority.empty(); }
};

struct TlsTexts {
  std::string pair;         // key and certificates in one text; empty without a certificate
  std::string authority;    // PEM
  int64_t expires_s = 0;    // Unix time; 0 without a certificate
  std::string description;  // "spiffe://mlc/submit/alice, valid until 2027-01-31T12:00:00Z"
};

// Reads and checks the files: they parse, key and certificate belong together, nothing has expired.
// INVALID_ARGUMENT, NOT_FOUND and PERMISSION_DENIED name the file and what to do.
Result<TlsTexts> ReadTls(const TlsPaths& paths);

// A secret: one word in a file that other users cannot read. The same errors.
Result<std::string> ReadSecret(const std::string& path);

}  // namespace mlc::transport
