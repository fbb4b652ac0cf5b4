#include "base/settings/config_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include "base/settings/setting_table.h"

namespace mlc::settings {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// An environment with these variables alone.
Lookup Variables(const std::map<std::string, std::string>& values) {
  return [values](const char* name) -> const char* {
    const auto found = values.find(name);
    return found == values.end() ? nullptr : found->second.c_str();
  };
}

Lookup Home() { return Variables({{"HOME", "/home/ada"}}); }

Result<ConfigFile> Parse(const std::string& text) {
  return ParseConfig(text, "/etc/mlc/config.toml", Home());
}

std::string ErrorOf(const std::string& text) {
  const Result<ConfigFile> parsed = Parse(text);
  if (parsed.ok()) return "none";
  EXPECT_EQ(parsed.status().code(), StatusCode::kFailedPrecondition) << text;
  return parsed.status().message();
}

std::string ValueOf(const ConfigFile& file, Program program, const char* name) {
  const Setting* setting = Find(program, name);
  const FileValue* value = setting == nullptr ? nullptr : file.Find(program, *setting);
  return value == nullptr ? "none" : value->text;
}

TEST(ConfigFileTest, TheTableOfAProgramIsBeforeTheTop) {
  const Result<ConfigFile> file = Parse(
      "server = 'lab:7443'\nthreads = 8\n[mlc-run]\nthreads = 2\n"
      "[mlc-server]\nlisten = '0.0.0.0:7443'\ninsecure-listen = true\n");
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(ValueOf(*file, Program::kTune, "server"), "lab:7443");
  EXPECT_EQ(ValueOf(*file, Program::kTune, "threads"), "8");
  EXPECT_EQ(ValueOf(*file, Program::kRun, "threads"), "2");
  EXPECT_EQ(ValueOf(*file, Program::kServer, "listen"), "0.0.0.0:7443");
  EXPECT_EQ(ValueOf(*file, Program::kServer, "insecure-listen"), "true");
  EXPECT_EQ(ValueOf(*file, Program::kTune, "log"), "none");
  EXPECT_EQ(file->Find(Program::kTune, *Find(Program::kTune, "threads"))->line, 2);
}

TEST(ConfigFileTest, AClientsCertificateIsNotTheServers) {
  const Result<ConfigFile> file = Parse("tls-cert = '/me.pem'\n[mlc-server]\ntls-ca = '/ca.pem'");
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(ValueOf(*file, Program::kWorker, "tls-cert"), "/me.pem");
  EXPECT_EQ(ValueOf(*file, Program::kServer, "tls-cert"), "none");
  EXPECT_EQ(ValueOf(*file, Program::kServer, "tls-ca"), "/ca.pem");
  EXPECT_EQ(ValueOf(*file, Program::kTune, "tls-ca"), "none");
}

TEST(ConfigFileTest, PathsAreRelativeToTheFileAndWordsAreNoPaths) {
  const Result<ConfigFile> file = Parse(
      "tls-ca = 'certs/ca.pem'\ntoken-file = '~/token'\ntls-crl = '/crl.pem'\nlog = '../a.db'\n"
      "cubin-cache = 'off'\ntarget = 'cpu'\n");
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(ValueOf(*file, Program::kTune, "tls-ca"), "/etc/mlc/certs/ca.pem");
  EXPECT_EQ(ValueOf(*file, Program::kTune, "token-file"), "/home/ada/token");
  EXPECT_EQ(ValueOf(*file, Program::kTune, "tls-crl"), "/crl.pem");
  EXPECT_EQ(ValueOf(*file, Program::kTune, "log"), "/etc/a.db");
  EXPECT_EQ(ValueOf(*file, Program::kTune, "cubin-cache"), "off");
  EXPECT_EQ(ValueOf(*file, Program::kTune, "target"), "cpu");
}

TEST(ConfigFileTest, WhatIsWrongIsToldWithItsLine) {
  EXPECT_EQ(ErrorOf("\nthread = 8"),
            "/etc/mlc/config.toml:2: there is no setting 'thread'; did you mean 'threads'?");
  EXPECT_THAT(ErrorOf("banana = 1"), HasSubstr("docs/reference/configuration.md lists them"));
  EXPECT_EQ(ErrorOf("listen = 'a:1'"),
            "/etc/mlc/config.toml:1: 'listen' is of one program: put it below [mlc-server]");
  EXPECT_THAT(ErrorOf("[mlc-tune]\nlisten = 'a:1'"), HasSubstr("mlc-tune has no setting 'listen'"));
  EXPECT_THAT(ErrorOf("[mlc-tnue]\nthreads = 1"), HasSubstr("no program 'mlc-tnue' has settings"));
  EXPECT_THAT(ErrorOf("[mlc-log]\nlog = 'a'"), HasSubstr("no program 'mlc-log' has settings"));
  EXPECT_THAT(ErrorOf("threads = '8'"), HasSubstr(":1: 'threads' is to be a whole number"));
  EXPECT_THAT(ErrorOf("threads = 8.0"), HasSubstr("a whole number"));
  EXPECT_THAT(ErrorOf("server = 8"), HasSubstr("'server' is to be a text in quotes"));
  EXPECT_THAT(ErrorOf("server = ['a']"), HasSubstr("a text in quotes"));
  EXPECT_THAT(ErrorOf("server = \"a\\u0000b\""), HasSubstr("a text in quotes"));
  EXPECT_THAT(ErrorOf("[mlc-server]\ninsecure-listen = 1"), HasSubstr("true or false"));
  EXPECT_THAT(ErrorOf("[mlc-tune.inner]\nthreads = 1"), HasSubstr("mlc-tune has no setting"));
  EXPECT_THAT(ErrorOf("server = "), StartsWith("/etc/mlc/config.toml:1: this is not valid TOML: "));
  EXPECT_THAT(ErrorOf("threads = 1\nthreads = 2"), HasSubstr(":2: this is not valid TOML"));
  EXPECT_THAT(ErrorOf("server = '\xFF'"), HasSubstr("this is not valid TOML"));
  EXPECT_THAT(ErrorOf("[=]"), HasSubstr("this is not valid TOML"));
  EXPECT_THAT(ErrorOf(std::string(100'000, '[')), HasSubstr("this is not valid TOML"))
      << "no stack";
  std::string key = "a";
  for (int i = 0; i < 100'000; ++i) key += ".a";
  EXPECT_EQ(ErrorOf(key + " = 1"),
            "/etc/mlc/config.toml: a key has more than 16 parts; settings have two at most");
}

TEST(ConfigFileTest, TheFileIsNamedOrInTheUsersFolder) {
  EXPECT_EQ(FindConfig("a.toml", Home())->path, "a.toml");
  EXPECT_FALSE(FindConfig("a.toml", Home())->may_be_missing);
  EXPECT_FALSE(FindConfig("", Home()).has_value()) << "an empty name means none";
  EXPECT_EQ(FindConfig({}, Variables({{"MLC_CONFIG", "/b"}, {"HOME", "/h"}}))->path, "/b");
  EXPECT_EQ(FindConfig({}, Home())->path, "/home/ada/.config/mlc/config.toml");
  EXPECT_TRUE(FindConfig({}, Home())->may_be_missing);
  EXPECT_EQ(FindConfig({}, Variables({{"XDG_CONFIG_HOME", "/x"}}))->path, "/x/mlc/config.toml");
  EXPECT_EQ(FindConfig({}, Variables({{"XDG_CONFIG_HOME", "here"}, {"HOME", "/h"}}))->path,
            "/h/.config/mlc/config.toml")
      << "a relative folder is the current one's";
  EXPECT_FALSE(FindConfig({}, Variables({})).has_value());
}

class FileOnDiskTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/config_file_test.XXXXXX";
    folder_ = mkdtemp(name);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string Write(const std::string& text, mode_t mode) {
    const std::string path = folder_ + "/config.toml";
    std::ofstream(path) << text;
    EXPECT_EQ(chmod(path.c_str(), mode), 0);
    return path;
  }
  static Status Read(const std::string& path, bool may_be_missing = false) {
    return ReadConfigFile({path, may_be_missing}, Home()).status();
  }

  std::string folder_;
};

TEST_F(FileOnDiskTest, OthersMayReadItAndNotChangeIt) {
  EXPECT_TRUE(Read(Write("threads = 1", 0644)).ok());
  for (const mode_t mode : {0664u, 0646u, 0666u}) {
    const Status status = Read(Write("threads = 1", mode));
    EXPECT_EQ(status.code(), StatusCode::kPermissionDenied);
    EXPECT_THAT(status.message(), HasSubstr("chmod go-w " + folder_));
  }
}

TEST_F(FileOnDiskTest, AFileThatIsNamedIsThere) {
  const Status status = Read(folder_ + "/none.toml");
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(status.message(), "there is no configuration file " + folder_ + "/none.toml");
  EXPECT_TRUE(Read(folder_ + "/none.toml", /*may_be_missing=*/true).ok());
}

TEST_F(FileOnDiskTest, FoldersPipesAndLongFilesAreRefused) {
  EXPECT_THAT(Read(folder_).message(), HasSubstr("is not a regular file"));
  const std::string pipe = folder_ + "/pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(Read(pipe).message(), HasSubstr("is not a regular file")) << "and not waited for";
  EXPECT_THAT(Read(Write("#" + std::string(2 << 20, 'x'), 0600)).message(),
              HasSubstr("longer than 1 MiB"));
}

// Tests run as root, too, who reaches every folder: the child is another user.
TEST(ConfigFileTest, AHomeOfAnotherUserHasNone) {
  const std::string home = ::testing::TempDir() + "/closed_home";
  std::filesystem::remove_all(home);
  std::filesystem::create_directories(home + "/.config/mlc");
  std::ofstream(home + "/.config/mlc/config.toml") << "threads = 3\n";
  chmod(home.c_str(), 0);
  const auto read = [&] {
    if (geteuid() == 0 && seteuid(65534) != 0) _exit(2);
    const Result<ConfigFile> optional =
        ReadConfigFile({home + "/.config/mlc/config.toml", true}, Home());
    const Result<ConfigFile> named =
        ReadConfigFile({home + "/.config/mlc/config.toml", false}, Home());
    // Without the leak checker, which cannot work after a change of user.
    _exit(optional.ok() && optional->values.empty() && !named.ok() ? 0 : 1);
  };
  EXPECT_EXIT(read(), ::testing::ExitedWithCode(0), "");
  chmod(home.c_str(), 0700);
  std::filesystem::remove_all(home);
}

}  // namespace
}  // namespace mlc::settings
