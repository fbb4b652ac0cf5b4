#include "base/tls/certificates.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "base/tls/tls_files.h"
#include "tests/unit/base/rpc/lab.h"

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

TEST_F(CertificatesTest, ATokenTakesTheOldOneOfItsOwnerAndNobodyElses) {
  for (const char* what : {"token read a-b", "token read a.b", "token read a", "token read a.b"}) {
    lab_->Make(what);
  }
  std::ifstream file(lab_->path("tokens"));
  std::vector<std::string> whose;
  for (std::string digest, who; file >> digest >> who;) whose.push_back(who);
  EXPECT_THAT(whose, ::testing::ElementsAre("read/a-b", "read/a", "read/a.b"));
}

// Else a renewal would take the server's files from its user.
TEST_F(CertificatesTest, RenewedFilesKeepTheirOwnerAndMode) {
  lab_->Make("submit dora");
  lab_->Make("token submit dora");
  const bool root = geteuid() == 0;
  const auto owner = root ? uid_t{10001} : geteuid();
  for (const char* name : {"submit-dora.key", "tokens"}) {
    ASSERT_EQ(chmod(lab_->path(name).c_str(), 0640), 0);
    if (root) {
      ASSERT_EQ(chown(lab_->path(name).c_str(), owner, owner), 0);
    }
  }
  lab_->Make("submit dora");
  lab_->Make("token submit dora");
  for (const char* name : {"submit-dora.key", "tokens"}) {
    struct stat file;
    ASSERT_EQ(stat(lab_->path(name).c_str(), &file), 0);
    EXPECT_EQ(file.st_mode & 0777, 0640u) << name;
    EXPECT_EQ(file.st_uid, owner) << name;
  }
}

// As in a container whose user is not the one who made the key.
TEST_F(CertificatesTest, AKeyOfAnotherUserIsExplained) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to be another user";
  char folder[] = "/tmp/mlc-keys-XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  ASSERT_EQ(chmod(folder, 0755), 0);
  TlsPaths paths = lab_->tls("submit-alice");
  for (std::string* path : {&paths.certificate, &paths.key, &paths.authority}) {
    const std::string copy = std::string(folder) + path->substr(path->rfind('/'));
    std::filesystem::copy_file(*path, copy);
    *path = copy;
  }
  ASSERT_EQ(seteuid(10001), 0);
  const Status status = ReadTls(paths).status();
  ASSERT_EQ(seteuid(0), 0);
  std::filesystem::remove_all(folder);
  EXPECT_EQ(status.code(), StatusCode::kPermissionDenied);
  EXPECT_EQ(status.message(), "--tls-key: cannot read " + paths.key +
                                  ": Permission denied; it belongs to user 0 and group 0 with mode "
                                  "0600, and this program runs as user 10001: chown it to that "
                                  "user");
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

// The key is in its place before its mode is: nothing changes then but the mode.
TEST_F(CertificatesTest, FilesThatCouldNotBeUsedAreTakenOnceTheyCan) {
  lab_->Make("submit carol");
  std::atomic<int> refused = 0;
  auto files = TlsFiles::Open(lab_->tls("submit-carol"), [&](const Status& status, const auto&) {
    if (status.code() == StatusCode::kPermissionDenied) ++refused;
  });
  ASSERT_TRUE(files.ok()) << files.status().ToString();
  const std::string description = (*files)->description();
  const std::string key = lab_->path("submit-carol.key");
  lab_->Make("submit carol", "DAYS=200");
  std::filesystem::permissions(key, std::filesystem::perms::others_read,
                               std::filesystem::perm_options::add);
  (void)(*files)->Reload();
  // Said again and again, too.
  while (refused < 2) std::this_thread::yield();
  EXPECT_EQ((*files)->description(), description);
  std::filesystem::permissions(key, std::filesystem::perms::others_read,
                               std::filesystem::perm_options::remove);
  while ((*files)->description() == description) std::this_thread::yield();
}

TEST_F(CertificatesTest, AChainThatWasCutIsRefused) {
  std::ifstream file(lab_->path("ca.pem"));
  const std::string authority(std::istreambuf_iterator<char>(file), {});
  Write("bundle", authority + authority.substr(0, authority.size() / 2));
  TlsPaths paths = lab_->tls("submit-alice");
  paths.authority = lab_->path("bundle");
  EXPECT_THAT(Words(paths), HasSubstr("bundle is damaged, or still being written"));
  Write("bundle", authority + authority + "and words\n");
  EXPECT_EQ(Words(paths), "fine");
}

}  // namespace
}  // namespace mlc::transport
