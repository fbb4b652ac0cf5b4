#include "base/tls/certificates.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <cerrno>
#include <ctime>
#include <vector>

#include "base/file_access.h"
#include "base/followed_file.h"
#include "base/tls/openssl_handles.h"

namespace mlc::transport {
namespace {

using openssl::Bio;
using openssl::Certificate;
using openssl::ForgetErrors;
using openssl::Key;

Status CheckPrivate(const std::string& flag, const std::string& path) {
  struct stat file;
  if (stat(path.c_str(), &file) != 0) {
    return CannotOpen("cannot read", path, errno).WithPrefix(flag);
  }
  if ((file.st_mode & S_IROTH) == 0) return Status();
  return Status(StatusCode::kPermissionDenied,
                flag + ": every user can read " + path + ": chmod 600 it");
}

Bio Open(const std::string& text) {
  return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

// Of a text that ends within a certificate, as one that is being copied does: an error.
Result<std::vector<Certificate>> ParseCertificates(const std::string& flag, const std::string& path,
                                                   const std::string& text) {
  const ForgetErrors errors;
  const Bio bio = Open(text);
  std::vector<Certificate> certificates;
  ERR_clear_error();
  while (X509* one = PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr)) {
    certificates.emplace_back(one);
  }
  const bool whole = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  if (certificates.empty()) return InvalidArgument(flag + ": " + path + " has no PEM certificate");
  if (!whole) {
    return InvalidArgument(flag + ": " + path +
                           " is damaged, or still being written: copy it again");
  }
  return certificates;
}

// An encrypted key is refused instead of asked for on a terminal.
int NoPassword(char*, int, int, void*) { return 0; }

Key ParseKey(const std::string& text) {
  const ForgetErrors errors;
  const Bio bio = Open(text);
  return Key(PEM_read_bio_PrivateKey(bio.get(), nullptr, NoPassword, nullptr));
}

int64_t Seconds(const ASN1_TIME* time) {
  std::tm broken = {};
  return ASN1_TIME_to_tm(time, &broken) == 1 ? static_cast<int64_t>(timegm(&broken)) : 0;
}

std::string DateText(const ASN1_TIME* time) {
  const std::time_t seconds = Seconds(time);
  std::tm broken = {};
  char text[32];
  gmtime_r(&seconds, &broken);
  std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &broken);
  return text;
}

Status CheckDates(const std::string& flag, const std::string& path, const X509* certificate) {
  if (X509_cmp_current_time(X509_get0_notBefore(certificate)) > 0) {
    return InvalidArgument(flag + ": " + path + " is not valid before " +
                           DateText(X509_get0_notBefore(certificate)) +
                           ": wait, or set this machine's clock right");
  }
  if (X509_cmp_current_time(X509_get0_notAfter(certificate)) < 0) {
    return InvalidArgument(flag + ": " + path + " expired on " +
                           DateText(X509_get0_notAfter(certificate)) +
                           ": renew it, or set this machine's clock right");
  }
  return Status();
}

// What a certificate is known by here: its URI, else its common name.
std::string NameOf(X509* certificate) {
  std::string name;
  auto* names = static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr));
  for (int i = 0; names != nullptr && i < sk_GENERAL_NAME_num(names); ++i) {
    const GENERAL_NAME* one = sk_GENERAL_NAME_value(names, i);
    if (one->type != GEN_URI || !name.empty()) continue;
    const ASN1_STRING* uri = one->d.uniformResourceIdentifier;
    name.assign(reinterpret_cast<const char*>(ASN1_STRING_get0_data(uri)),
                static_cast<size_t>(ASN1_STRING_length(uri)));
  }
  GENERAL_NAMES_free(names);
  if (!name.empty()) return name;
  char common[256] = {};
  X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, common,
                            sizeof(common));
  return common;
}

Status ReadPair(const TlsPaths& paths, TlsTexts& texts) {
  const std::string chain = MLC_TRY(ReadFileText("--tls-cert", paths.certificate));
  MLC_TRY(CheckPrivate("--tls-key", paths.key));
  const std::string key_text = MLC_TRY(ReadFileText("--tls-key", paths.key));
  const std::vector<Certificate> certificates =
      MLC_TRY(ParseCertificates("--tls-cert", paths.certificate, chain));
  const Key key = ParseKey(key_text);
  if (key == nullptr) {
    return InvalidArgument("--tls-key: " + paths.key + " has no PEM key without a password");
  }
  X509* own = certificates.front().get();
  const ForgetErrors errors;
  if (X509_check_private_key(own, key.get()) != 1) {
    return InvalidArgument("--tls-key: " + paths.key + " is not the key of " + paths.certificate);
  }
  MLC_TRY(CheckDates("--tls-cert", paths.certificate, own));
  texts.pair = key_text + "\n" + chain;
  texts.expires_s = Seconds(X509_get0_notAfter(own));
  texts.description = NameOf(own) + ", valid until " + DateText(X509_get0_notAfter(own));
  return Status();
}

}  // namespace

Result<TlsTexts> ReadTls(const TlsPaths& paths) {
  if (paths.certificate.empty() != paths.key.empty()) {
    return InvalidArgument("--tls-cert and --tls-key come together");
  }
  if (paths.authority.empty()) {
    return InvalidArgument("--tls-ca is missing: give the certificates that sign the other side's");
  }
  TlsTexts texts;
  texts.authority = MLC_TRY(ReadFileText("--tls-ca", paths.authority));
  const std::vector<Certificate> authorities =
      MLC_TRY(ParseCertificates("--tls-ca", paths.authority, texts.authority));
  if (authorities.size() == 1) {
    MLC_TRY(CheckDates("--tls-ca", paths.authority, authorities.front().get()));
  }
  if (!paths.certificate.empty()) MLC_TRY(ReadPair(paths, texts));
  return texts;
}

Result<std::string> ReadSecret(const std::string& path) {
  MLC_TRY(CheckPrivate("--token-file", path));
  std::string text = MLC_TRY(ReadFileText("--token-file", path));
  const size_t end = text.find_last_not_of(" \t\r\n");
  text.resize(end == std::string::npos ? 0 : end + 1);
  for (const char c : text) {
    if (c <= ' ' || c > '~') return InvalidArgument("--token-file: " + path + " is not one word");
  }
  if (text.empty()) return InvalidArgument("--token-file: " + path + " is empty");
  return text;
}

}  // namespace mlc::transport
