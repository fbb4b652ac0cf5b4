#include "base/tls/tls_server.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>

#include <algorithm>
#include <utility>

namespace mlc::transport {
namespace {

using openssl::Bio;
using openssl::Certificate;
using openssl::Context;
using openssl::ForgetErrors;
using openssl::Ssl;

// What an operation that cannot go on waits for; 0 if it has failed.
short WantedEvents(const SSL* ssl, int result) {
  switch (SSL_get_error(ssl, result)) {
    case SSL_ERROR_WANT_READ:
      return POLLIN;
    case SSL_ERROR_WANT_WRITE:
      return POLLOUT;
    default:
      return 0;
  }
}

std::string PemOf(X509* certificate) {
  const Bio bio(BIO_new(BIO_s_mem()));
  if (PEM_write_bio_X509(bio.get(), certificate) != 1) return "";
  char* text = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &text);
  return std::string(text, static_cast<size_t>(std::max(size, 0L)));
}

std::vector<std::string> UrisOf(X509* certificate) {
  std::vector<std::string> uris;
  auto* names = static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr));
  for (int i = 0; names != nullptr && i < sk_GENERAL_NAME_num(names); ++i) {
    const GENERAL_NAME* one = sk_GENERAL_NAME_value(names, i);
    if (one->type != GEN_URI) continue;
    const ASN1_STRING* uri = one->d.uniformResourceIdentifier;
    uris.emplace_back(reinterpret_cast<const char*>(ASN1_STRING_get0_data(uri)),
                      static_cast<size_t>(ASN1_STRING_length(uri)));
  }
  GENERAL_NAMES_free(names);
  return uris;
}

TlsPeer PeerOf(const SSL* ssl) {
  TlsPeer peer;
  const Certificate certificate(SSL_get1_peer_certificate(ssl));
  if (certificate == nullptr || SSL_get_verify_result(ssl) != X509_V_OK) return peer;
  peer.certificate = PemOf(certificate.get());
  peer.uris = UrisOf(certificate.get());
  return peer;
}

}  // namespace

bool WaitForSocket(int fd, short events, std::chrono::steady_clock::time_point deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
      deadline - std::chrono::steady_clock::now());
  pollfd socket = {fd, events, 0};
  return left.count() > 0 && poll(&socket, 1, static_cast<int>(left.count())) > 0;
}

TlsStream::TlsStream(int fd, Ssl ssl) : fd_(fd), ssl_(std::move(ssl)), peer_(PeerOf(ssl_.get())) {}

bool TlsStream::has_pending() const { return SSL_pending(ssl_.get()) > 0; }

ssize_t TlsStream::Read(char* to, size_t size, Time deadline) {
  const ForgetErrors errors;
  for (;;) {
    size_t done = 0;
    const int result = SSL_read_ex(ssl_.get(), to, size, &done);
    if (result == 1) return static_cast<ssize_t>(done);
    if (SSL_get_error(ssl_.get(), result) == SSL_ERROR_ZERO_RETURN) return 0;
    const short wanted = WantedEvents(ssl_.get(), result);
    if (wanted == 0 || !WaitForSocket(fd_, wanted, deadline)) return -1;
  }
}

bool TlsStream::Write(std::string_view bytes, Time deadline) {
  const ForgetErrors errors;
  while (!bytes.empty()) {
    size_t done = 0;
    const int result = SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &done);
    if (result == 1) {
      bytes.remove_prefix(done);
      continue;
    }
    const short wanted = WantedEvents(ssl_.get(), result);
    if (wanted == 0 || !WaitForSocket(fd_, wanted, deadline)) return false;
  }
  return true;
}

void TlsStream::Close() {
  const ForgetErrors errors;
  (void)SSL_shutdown(ssl_.get());
}

Result<std::unique_ptr<TlsServer>> TlsServer::Open(const TlsPaths& paths, bool certificate_needed,
                                                   TlsFiles::Heard heard) {
  std::unique_ptr<TlsServer> server(new TlsServer(certificate_needed));
  server->files_ =
      MLC_TRY(TlsFiles::Open(paths, [raw = server.get(), heard = std::move(heard)](
                                        const Status& status, const std::string& description) {
        if (status.ok()) raw->is_old_ = true;
        if (heard) heard(status, description);
      }));
  Context context = MLC_TRY(server->MakeContext());
  const MutexLock lock(server->mutex_);
  server->context_ = std::move(context);
  return server;
}

Result<Context> TlsServer::MakeContext() const {
  const ForgetErrors errors;
  Context context(SSL_CTX_new(TLS_server_method()));
  if (context == nullptr) return Internal("no TLS context");
  SSL_CTX* raw = context.get();
  SSL_CTX_set_min_proto_version(raw, TLS1_2_VERSION);
  SSL_CTX_set_options(raw, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_session_cache_mode(raw, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_mode(raw, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_verify(
      raw, SSL_VERIFY_PEER | (certificate_needed_ ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0), nullptr);
  const std::string pair = files_->pair_path();
  const std::string authority = files_->authority_path();
  // Browsers offer certificates of these authorities.
  SSL_CTX_set_client_CA_list(raw, SSL_load_client_CA_file(authority.c_str()));
  if (SSL_CTX_use_certificate_chain_file(raw, pair.c_str()) != 1 ||
      SSL_CTX_use_PrivateKey_file(raw, pair.c_str(), SSL_FILETYPE_PEM) != 1 ||
      SSL_CTX_load_verify_locations(raw, authority.c_str(), nullptr) != 1) {
    return Unavailable("OpenSSL cannot use the certificates: " +
                       std::string(ERR_reason_error_string(ERR_peek_last_error()) != nullptr
                                       ? ERR_reason_error_string(ERR_peek_last_error())
                                       : "unknown"));
  }
  return context;
}

// Files that changed between the reads of key and chain make no context; the next connection
// tries again with what has come since.
Ssl TlsServer::NewSsl() {
  if (is_old_.exchange(false)) {
    Result<Context> fresh = MakeContext();
    if (!fresh.ok()) is_old_ = true;
    const MutexLock lock(mutex_);
    if (fresh.ok()) context_ = *std::move(fresh);
  }
  const MutexLock lock(mutex_);
  return Ssl(SSL_new(context_.get()));
}

Result<std::unique_ptr<TlsStream>> TlsServer::Accept(int fd, TlsStream::Time deadline) {
  const ForgetErrors errors;
  Ssl ssl = NewSsl();
  if (ssl == nullptr || SSL_set_fd(ssl.get(), fd) != 1) return Internal("no TLS connection");
  for (;;) {
    const int result = SSL_accept(ssl.get());
    if (result == 1) return std::make_unique<TlsStream>(fd, std::move(ssl));
    const short wanted = WantedEvents(ssl.get(), result);
    if (wanted == 0) return Unavailable("the TLS handshake failed");
    if (!WaitForSocket(fd, wanted, deadline)) return Unavailable("the TLS handshake took too long");
  }
}

}  // namespace mlc::transport
