#include "base/tls/openssl_handles.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

namespace mlc::transport::openssl {

void Free::operator()(X509_crl_st* list) const { X509_CRL_free(list); }
void Free::operator()(bio_st* bio) const { BIO_free_all(bio); }
void Free::operator()(evp_pkey_st* key) const { EVP_PKEY_free(key); }
void Free::operator()(ssl_ctx_st* context) const { SSL_CTX_free(context); }
void Free::operator()(ssl_st* ssl) const { SSL_free(ssl); }
void Free::operator()(x509_st* certificate) const { X509_free(certificate); }

ForgetErrors::~ForgetErrors() { ERR_clear_error(); }

}  // namespace mlc::transport::openssl
