#include "transport/certificates.h"

#include <gmock/gmock.h>

#include <fstream>

#include "tests/unit/transport/lab.h"
#include "transport/tls_files.h"

namespace mlc::transport {
namespace {

using ::testing::HasSubstr;

class CertificatesTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    lab_ = new Lab("certificates");
    lab_->Make("submit alice");
    lab_->Make("work old", "DAYS=-1");
  }
  static void TearDownTestSuite() { delete lab_; }
  static void Write(const std::string& name, const std::string& text) {
    std::ofstream(lab_->path(name)) << text;
    std::filesystem::permissions(
        lab_->path(name), std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  }
  static std::string Words(const TlsPaths& paths) {
    const Result<TlsTexts> texts = ReadTls(paths);
    return texts.ok() ? "fine" : texts.status().message();
  }

  static const Lab* lab_;
};
const Lab* CertificatesTest::lab_ = nullptr;

TEST_F(CertificatesTest, GoodOnesAreDescribed) {
  const Result<TlsTexts> texts = ReadTls(lab_->tls("submit-alice"));
  ASSERT_TRUE(texts.ok()) << texts.status().ToString();
  EXPECT_THAT(texts->description, HasSubstr("spiffe://mlc/submit/alice, valid until 20"));
  EXPECT_THAT(texts->pair, HasSubstr("PRIVATE KEY"));
  EXPECT_THAT(texts->pair, HasSubstr("BEGIN CERTIFICATE"));
  EXPECT_TRUE(ReadTls(lab_->tls("")).ok()) << "an authority alone is enough for a client";
}

TEST_F(CertificatesTest, BadOnesAreExplained) {
  TlsPaths paths = lab_->tls("submit-alice");
  paths.key = lab_->path("server.key");
  EXPECT_THAT(Words(paths), HasSubstr("is not the key of"));
  EXPECT_THAT(Words(lab_->tls("work-old")), HasSubstr("expired on"));
  paths = lab_->tls("submit-alice");
  paths.certificate = lab_->path("absent.pem");
  EXPECT_THAT(Words(paths), HasSubstr("cannot read"));
  paths.certificate = "";
  EXPECT_THAT(Words(paths), HasSubstr("come together"));
  paths = lab_->tls("submit-alice");
  paths.authority = "";
  EXPECT_THAT(Words(paths), HasSubstr("--tls-ca is missing"));
  Write("rubbish", "-----BEGIN CERTIFICATE-----\nAAAA\n");
  paths.authority = lab_->path("rubbish");
  EXPECT_THAT(Words(paths), HasSubstr("no PEM certificate"));
}

TEST_F(CertificatesTest, AKeyThatEveryoneCanReadIsRefused) {
  std::filesystem::copy_file(lab_->path("submit-alice.key"), lab_->path("open.key"));
  std::filesystem::permissions(lab_->path("open.key"), std::filesystem::perms::others_read,
                               std::filesystem::perm_options::add);
  TlsPaths paths = lab_->tls("submit-alice");
  paths.key = lab_->path("open.key");
  EXPECT_EQ(ReadTls(paths).status().code(), StatusCode::kPermissionDenied);
  EXPECT_THAT(Words(paths), HasSubstr("chmod 600"));
}

TEST_F(CertificatesTest, SecretsAreOneWord) {
  Write("token", "abc\n");
  EXPECT_EQ(*ReadSecret(lab_->path("token")), "abc");
  Write("token", "abc def\n");
  EXPECT_FALSE(ReadSecret(lab_->path("token")).ok());
  Write("token", "\n");
  EXPECT_FALSE(ReadSecret(lab_->path("token")).ok());
  EXPECT_EQ(ReadSecret(lab_->path("absent")).status().code(), StatusCode::kNotFound);
}

TEST_F(CertificatesTest, OnlySoundFilesReplaceOthers) {
  lab_->Make("submit bob");
  std::string heard;
  auto files = TlsFiles::Open(lab_->tls("submit-bob"), [&](const Status& status, const auto&) {
    heard = status.ToString();
  });
  ASSERT_TRUE(files.ok()) << files.status().ToString();
  const std::string description = (*files)->description();
  Write("submit-bob.pem", "half a certi");
  EXPECT_FALSE((*files)->Reload().ok());
  EXPECT_THAT(heard, HasSubstr("no PEM certificate"));
  EXPECT_EQ((*files)->description(), description);
  lab_->Make("submit bob", "DAYS=200");
  EXPECT_TRUE((*files)->Reload().ok());
  EXPECT_NE((*files)->description(), description);
}

}  // namespace
}  // namespace mlc::transport
