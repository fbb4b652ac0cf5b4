#include "base/rpc/diagnose.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <csignal>
#include <ctime>
#include <string_view>
#include <utility>

#include "base/rpc/socket.h"
#include "base/tls/openssl_handles.h"
#include "base/tls/revocations.h"

namespace mlc::transport {
namespace {

constexpr int kStepTimeoutMs = 3'000;

// OpenSSL writes with write(2): the signal of a closed connection is kept from the program.
class QuietPipes {
 public:
  QuietPipes() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~QuietPipes() {
    const timespec now = {};
    (void)sigtimedwait(&pipe_, nullptr, &now);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t pipe_;
  sigset_t before_;
};

Status Unauthenticated(std::string message) {
  return {StatusCode::kUnauthenticated, std::move(message)};
}

// What the server's certificate lacks, by OpenSSL's verify result.
Status ExplainVerifyResult(long result, const std::string& server, const std::string& name,
                           const TlsPaths& tls) {
  switch (result) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return Unauthenticated("the certificate of " + server +
                             " has expired: renew it there, or set this machine's clock right");
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return Unauthenticated("the certificate of " + server +
                             " is not valid yet: one of the two clocks is wrong; compare `date -u` "
                             "here and there");
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return Unauthenticated("the certificate of " + server + " is not for '" + name +
                             "': use a name that it has, or give --server-name");
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
      return Unauthenticated("the certificate of " + server + " is not signed by " + tls.authority +
                             ": use the authority of that server as --tls-ca");
    default:
      return Unauthenticated("the certificate of " + server +
                             " is refused: " + X509_verify_cert_error_string(result));
  }
}

// What the server has against this side, by the alert that it sends.
Status Refused(const std::string& server, const TlsPaths& tls) {
  const unsigned long error = ERR_peek_last_error();
  const int reason = ERR_GET_REASON(error);
  const std::string own = tls.certificate.empty() ? "a client without --tls-cert" : tls.certificate;
  if (reason == SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED) {
    return Unauthenticated(server + " refuses " + own +
                           ": expired, by its clock; renew it, or compare the clocks");
  }
  if (reason == SSL_R_TLSV1_ALERT_UNKNOWN_CA) {
    return Unauthenticated(server + " refuses " + own + ": it is not signed by its --tls-ca");
  }
  if (reason == SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED) {
    return Unauthenticated(server + " requires a certificate: give --tls-cert and --tls-key");
  }
  if (reason == SSL_R_UNEXPECTED_EOF_WHILE_READING) {
    // gRPC closes without the alert that would tell why.
    return Unauthenticated(server +
                           (tls.certificate.empty()
                                ? " requires a certificate or token: give --tls-cert and --tls-key"
                                : " refuses " + own +
                                      ": it has expired by the clock there, or is not "
                                      "signed by the --tls-ca there"));
  }
  if (reason == SSL_R_WRONG_VERSION_NUMBER || reason == 0) {
    return Unavailable(server + " does not speak TLS: leave --tls-ca out, or start it with TLS");
  }
  return Unauthenticated(server + " ends the handshake: " + ERR_reason_error_string(error));
}

bool Prepare(SSL_CTX* context, const TlsPaths& tls) {
  if (SSL_CTX_load_verify_file(context, tls.authority.c_str()) != 1) return false;
  if (tls.certificate.empty()) return true;
  return SSL_CTX_use_certificate_chain_file(context, tls.certificate.c_str()) == 1 &&
         SSL_CTX_use_PrivateKey_file(context, tls.key.c_str(), SSL_FILETYPE_PEM) == 1;
}

// gRPC asks for the same at its handshakes.
Status CheckRevoked(const SSL* ssl, const std::string& server, const TlsPaths& tls) {
  if (tls.revoked.empty()) return Status();
  const auto revoked = MLC_TRY(Revocations::Open(
      tls, "the certificate of " + server + " was revoked, by " + tls.revoked +
               ": the host that answers there may not be your server; ask its administrator"));
  const openssl::Certificate certificate(SSL_get1_peer_certificate(ssl));
  const openssl::Bio pem(BIO_new(BIO_s_mem()));
  if (PEM_write_bio_X509(pem.get(), certificate.get()) != 1) {
    return Unauthenticated("the certificate of " + server + " cannot be read");
  }
  char* text = nullptr;
  const long size = BIO_get_mem_data(pem.get(), &text);
  return revoked->Check(std::string_view(text, static_cast<size_t>(size)));
}

Status Handshake(int fd, const std::string& address, const TlsPaths& tls, const std::string& name) {
  const openssl::Context context(SSL_CTX_new(TLS_client_method()));
  if (context == nullptr || !Prepare(context.get(), tls)) {
    return InvalidArgument("the TLS files cannot be used: " +
                           std::string(ERR_reason_error_string(ERR_peek_last_error())));
  }
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  const unsigned char http2[] = {2, 'h', '2'};
  SSL_CTX_set_alpn_protos(context.get(), http2, sizeof(http2));
  const openssl::Ssl ssl(SSL_new(context.get()));
  SSL_set_fd(ssl.get(), fd);
  X509_VERIFY_PARAM* param = SSL_get0_param(ssl.get());
  if (X509_VERIFY_PARAM_set1_ip_asc(param, name.c_str()) != 1) {
    ERR_clear_error();
    X509_VERIFY_PARAM_set1_host(param, name.c_str(), name.size());
    SSL_set_tlsext_host_name(ssl.get(), name.c_str());
  }
  ERR_clear_error();
  if (SSL_connect(ssl.get()) != 1) {
    const long result = SSL_get_verify_result(ssl.get());
    return result != X509_V_OK ? ExplainVerifyResult(result, address, name, tls)
                               : Refused(address, tls);
  }
  MLC_TRY(CheckRevoked(ssl.get(), address, tls));
  // In TLS 1.3 the server checks this side's certificate after its own handshake: its settings
  // arrive, or an alert, or the connection ends.
  char byte;
  ERR_clear_error();
  if (SSL_read(ssl.get(), &byte, 1) == 1) return Status();
  return ERR_peek_last_error() != 0
             ? Refused(address, tls)
             : Unavailable(address + " accepts connections but does not answer");
}

}  // namespace

Status Diagnose(const std::string& address, const TlsPaths& tls, const std::string& server_name) {
  Result<Descriptor> fd = ConnectTo(address, kStepTimeoutMs);
  if (!fd.ok()) {
    return Unavailable("no mlc-server answers at " + address + ": " + fd.status().message());
  }
  if (tls.empty()) return Status();
  const QuietPipes quiet;
  return Handshake(fd->get(), address, tls, server_name.empty() ? HostOf(address) : server_name);
}

}  // namespace mlc::transport
