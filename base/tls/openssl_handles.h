// Owners of OpenSSL's objects, for sources that call OpenSSL.
#pragma once

#include <memory>

// OpenSSL's own names for BIO, X509 and the like.
struct X509_crl_st;
struct bio_st;
struct evp_pkey_st;
struct ssl_ctx_st;
struct ssl_st;
struct x509_st;

namespace mlc::transport::openssl {

struct Free {
  void operator()(X509_crl_st* list) const;
  void operator()(bio_st* bio) const;
  void operator()(evp_pkey_st* key) const;
  void operator()(ssl_ctx_st* context) const;
  void operator()(ssl_st* ssl) const;
  void operator()(x509_st* certificate) const;
};

using Bio = std::unique_ptr<bio_st, Free>;
using Certificate = std::unique_ptr<x509_st, Free>;
using Context = std::unique_ptr<ssl_ctx_st, Free>;
using Key = std::unique_ptr<evp_pkey_st, Free>;
using RevocationList = std::unique_ptr<X509_crl_st, Free>;
using Ssl = std::unique_ptr<ssl_st, Free>;

// Clears the errors that reading leaves behind; they would disturb the thread's next TLS call.
struct ForgetErrors {
  ~ForgetErrors();
};

}  // namespace mlc::transport::openssl
