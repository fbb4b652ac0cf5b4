#include "base/tls/revocations.h"

#include <openssl/err.h>
#include <openssl/pem.h>

#include <optional>
#include <utility>
#include <vector>

#include "base/tls/openssl_handles.h"

namespace mlc::transport {
namespace {

constexpr size_t kMostRemembered = 4096;

using openssl::Bio;
using openssl::Certificate;
using openssl::ForgetErrors;
using openssl::RevocationList;

// Bytes that tell an authority from all others; names may be the same.
std::string KeyText(X509* certificate) {
  unsigned char* bytes = nullptr;
  const int size = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), &bytes);
  std::string text(reinterpret_cast<char*>(bytes), static_cast<size_t>(size > 0 ? size : 0));
  OPENSSL_free(bytes);
  return text;
}

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

// Which of them has signed it; null if none has.
X509* SignerOf(X509_CRL* list, const std::vector<Certificate>& authorities) {
  for (const Certificate& authority : authorities) {
    EVP_PKEY* key = X509_get0_pubkey(authority.get());
    const bool issues =
        X509_NAME_cmp(X509_CRL_get_issuer(list), X509_get_subject_name(authority.get())) == 0;
    if (issues && key != nullptr && X509_CRL_verify(list, key) == 1) return authority.get();
  }
  return nullptr;
}

}  // namespace

Result<std::unique_ptr<Revocations>> Revocations::Open(const TlsPaths& paths, std::string refusal) {
  std::unique_ptr<Revocations> list(new Revocations(paths, std::move(refusal)));
  MLC_TRY(list->Refresh(Look::kNow));
  return list;
}

Result<Revocations::List> Revocations::Parse(const std::string& text) const {
  const ForgetErrors errors;
  const Bio file(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  const std::vector<Certificate> authorities = ReadAuthorities(authority_);
  List revoked;
  for (;;) {
    ERR_clear_error();
    const RevocationList list(PEM_read_bio_X509_CRL(file.get(), nullptr, nullptr, nullptr));
    if (list == nullptr) break;
    X509* signer = SignerOf(list.get(), authorities);
    if (signer == nullptr) {
      return InvalidArgument("--tls-crl: " + file_.path() + " is not signed by the authority in " +
                             authority_ + ": make it with deploy/certificates.sh, where ca.key is");
    }
    revoked.signers.insert(KeyText(signer));
    // Null for an empty list.
    STACK_OF(X509_REVOKED)* entries = X509_CRL_get_REVOKED(list.get());
    for (int i = 0; i < sk_X509_REVOKED_num(entries); ++i) {
      revoked.serials.insert(
          SerialText(X509_CRL_get_issuer(list.get()),
                     X509_REVOKED_get0_serialNumber(sk_X509_REVOKED_value(entries, i))));
    }
  }
  // What comes after the last list is no list, rather than one that was cut.
  const bool whole = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  if (revoked.signers.empty() && whole) {
    return InvalidArgument("--tls-crl: " + file_.path() + " holds no list in PEM");
  }
  if (!whole) {
    return InvalidArgument("--tls-crl: " + file_.path() +
                           " is damaged, or still being written: copy it again");
  }
  for (const Certificate& authority : authorities) {
    const std::string key = KeyText(authority.get());
    if (revoked_.signers.contains(key) && !revoked.signers.contains(key)) {
      return InvalidArgument("--tls-crl: " + file_.path() +
                             " has lost the list of an authority in " + authority_ +
                             ": put the lists of all of them into it");
    }
  }
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
  if (!revoked_.serials.contains(known->second)) return Status();
  return Status(StatusCode::kUnauthenticated, refusal_);
}

Status Revocations::Refresh(Look look) {
  std::lock_guard file_lock(file_mutex_);
  return file_.Refresh(look, [this](const std::string& text) {
    List revoked = MLC_TRY(Parse(text));
    std::lock_guard lock(mutex_);
    revoked_ = std::move(revoked);
    return Status();
  });
}

int64_t Revocations::taken() const {
  std::lock_guard lock(file_mutex_);
  return file_.taken();
}

size_t Revocations::size() const {
  std::lock_guard lock(mutex_);
  return revoked_.serials.size();
}

}  // namespace mlc::transport
