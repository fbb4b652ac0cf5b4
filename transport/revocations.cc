#include "transport/revocations.h"

#include <openssl/pem.h>

#include <optional>
#include <utility>
#include <vector>

#include "transport/file_stamp.h"
#include "transport/openssl_handles.h"

namespace mlc::transport {
namespace {

constexpr size_t kMostRemembered = 4096;

using openssl::Bio;
using openssl::Certificate;
using openssl::ForgetErrors;
using openssl::RevocationList;

// Bytes that tell a certificate from all others: who signed it, and its number there.
std::string SerialText(const X509_NAME* issuer, const ASN1_INTEGER* serial) {
  unsigned char* name = nullptr;
  const int size = i2d_X509_NAME(issuer, &name);
  std::string text(reinterpret_cast<char*>(name), static_cast<size_t>(size > 0 ? size : 0));
  OPENSSL_free(name);
  text.append(reinterpret_cast<const char*>(serial->data), static_cast<size_t>(serial->length));
  return text;
}

std::optional<std::string> SerialOf(std::string_view pem) {
  const ForgetErrors errors;
  const Bio bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  const Certificate certificate(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
  if (certificate == nullptr) return std::nullopt;
  return SerialText(X509_get_issuer_name(certificate.get()),
                    X509_get0_serialNumber(certificate.get()));
}

std::vector<Certificate> ReadAuthorities(const std::string& path) {
  std::vector<Certificate> authorities;
  const Bio file(BIO_new_file(path.c_str(), "r"));
  while (file != nullptr) {
    Certificate next(PEM_read_bio_X509(file.get(), nullptr, nullptr, nullptr));
    if (next == nullptr) break;
    authorities.push_back(std::move(next));
  }
  return authorities;
}

bool IsSigned(X509_CRL* list, const std::vector<Certificate>& authorities) {
  for (const Certificate& authority : authorities) {
    EVP_PKEY* key = X509_get0_pubkey(authority.get());
    const bool issues =
        X509_NAME_cmp(X509_CRL_get_issuer(list), X509_get_subject_name(authority.get())) == 0;
    if (issues && key != nullptr && X509_CRL_verify(list, key) == 1) return true;
  }
  return false;
}

}  // namespace

Result<std::unique_ptr<Revocations>> Revocations::Open(const TlsPaths& paths, std::string refusal) {
  std::unique_ptr<Revocations> list(new Revocations(paths, std::move(refusal)));
  list->stamp_ = StampOf(paths.revoked);
  list->revoked_ = MLC_TRY(list->Read());
  return list;
}

Result<Revocations::Serials> Revocations::Read() const {
  const ForgetErrors errors;
  const Bio file(BIO_new_file(path_.c_str(), "r"));
  if (file == nullptr) return NotFound("--tls-crl: cannot read " + path_);
  const std::vector<Certificate> authorities = ReadAuthorities(authority_);
  Serials revoked;
  int lists = 0;
  for (;;) {
    const RevocationList list(PEM_read_bio_X509_CRL(file.get(), nullptr, nullptr, nullptr));
    if (list == nullptr) break;
    ++lists;
    if (!IsSigned(list.get(), authorities)) {
      return InvalidArgument("--tls-crl: " + path_ + " is not signed by the authority in " +
                             authority_ + ": make it with deploy/certificates.sh, where ca.key is");
    }
    // Null for an empty list.
    STACK_OF(X509_REVOKED)* entries = X509_CRL_get_REVOKED(list.get());
    for (int i = 0; i < sk_X509_REVOKED_num(entries); ++i) {
      revoked.insert(SerialText(X509_CRL_get_issuer(list.get()),
                                X509_REVOKED_get0_serialNumber(sk_X509_REVOKED_value(entries, i))));
    }
  }
  if (lists == 0) return InvalidArgument("--tls-crl: " + path_ + " holds no list in PEM");
  return revoked;
}

Status Revocations::Check(std::string_view certificate) const {
  std::lock_guard lock(mutex_);
  auto known = serial_of_.find(certificate);
  if (known == serial_of_.end()) {
    std::optional<std::string> serial = SerialOf(certificate);
    if (!serial) return Status(StatusCode::kUnauthenticated, "the certificate cannot be read");
    if (serial_of_.size() >= kMostRemembered) serial_of_.clear();
    known = serial_of_.emplace(certificate, *std::move(serial)).first;
  }
  if (!revoked_.contains(known->second)) return Status();
  return Status(StatusCode::kUnauthenticated, refusal_);
}

Status Revocations::Refresh() {
  std::string stamp = StampOf(path_);
  {
    std::lock_guard lock(mutex_);
    if (stamp == stamp_) return Status();
  }
  Result<Serials> revoked = Read();
  std::lock_guard lock(mutex_);
  stamp_ = std::move(stamp);
  MLC_TRY(revoked.status());
  revoked_ = *std::move(revoked);
  return Status();
}

size_t Revocations::size() const {
  std::lock_guard lock(mutex_);
  return revoked_.size();
}

}  // namespace mlc::transport
