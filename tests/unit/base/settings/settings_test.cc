#include "base/settings/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <toml++/toml.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "base/settings/setting_table.h"

namespace mlc::settings {
namespace {

using ::testing::HasSubstr;

// A program with some of mlc-compile's flags, or with those of mlc-worker.
struct Outcome {
  std::optional<int> end;
  std::string out;
  std::string errors;
  std::string server;
  std::string log;
  std::string certificate;
  std::string key;
  std::string token;
  std::string needed;
  std::string needing;
  int threads = 0;
  bool user_kernels = false;
  size_t servers = 0;
};

class SettingsTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/settings_test.XXXXXX";
    folder_ = mkdtemp(name);
    variables_["HOME"] = folder_;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string File() const { return folder_ + "/.config/mlc/config.toml"; }
  void Write(const std::string& text) {
    std::filesystem::create_directories(folder_ + "/.config/mlc");
    std::ofstream(File()) << text;
    std::filesystem::permissions(File(), std::filesystem::perms(0600));
  }

  Outcome Run(std::vector<const char*> arguments, Program program = Program::kCompile) {
    Outcome outcome;
    const std::string name = NameOf(program);
    CLI::App app("a program", name);
    Settings settings(program, [this](const char* variable) -> const char* {
      asked_.insert(variable);
      const auto found = variables_.find(variable);
      return found == variables_.end() ? nullptr : found->second.c_str();
    });
    settings.AddFlags(app);
    CLI::Option* log = app.add_option("--log", outcome.log);
    CLI::Option* server = app.add_option("--server", outcome.server);
    if (program == Program::kCompile) server->excludes(log);
    app.add_option("--tls-cert", outcome.certificate);
    app.add_option("--tls-key", outcome.key);
    app.add_option("--token-file", outcome.token);
    app.add_option("--threads", outcome.threads)->check(CLI::Range(0, 64));
    app.add_flag("--allow-user-kernels", outcome.user_kernels);
    CLI::Option* fleet = app.add_option("--fleet", outcome.needed);
    app.add_option("--fleet-config", outcome.needing)->needs(fleet);
    std::string model;
    app.add_option("--model", model)->required(program == Program::kRun);
    arguments.insert(arguments.begin(), name.c_str());
    std::ostringstream out, errors;
    outcome.end =
        settings.Parse(app, static_cast<int>(arguments.size()), arguments.data(), out, errors);
    outcome.out = out.str();
    outcome.errors = errors.str();
    outcome.servers = server->count();
    return outcome;
  }

  std::string folder_;
  std::map<std::string, std::string> variables_;
  std::set<std::string> asked_;
};

TEST_F(SettingsTest, TheStrongerSourceWins) {
  EXPECT_EQ(Run({}).threads, 0);
  Write("threads = 3\n");
  EXPECT_EQ(Run({}).threads, 3);
  variables_["MLC_THREADS"] = "4";
  EXPECT_EQ(Run({}).threads, 4);
  EXPECT_EQ(Run({"--threads", "5"}).threads, 5);
  EXPECT_EQ(Run({"--config", ""}).threads, 4) << "no file";
  variables_["MLC_THREADS"] = "";
  EXPECT_EQ(Run({}).threads, 3) << "an empty variable is none";
  EXPECT_EQ(Run({"--config", ""}).threads, 0);
}

TEST_F(SettingsTest, AVariableIsOfTheProgramsOfItsSetting) {
  variables_["MLC_WORKER_ALLOW_USER_KERNELS"] = "true";
  EXPECT_FALSE(Run({}).user_kernels);
  EXPECT_TRUE(Run({}, Program::kWorker).user_kernels);
  EXPECT_TRUE(asked_.contains("MLC_CONFIG"));
  EXPECT_FALSE(asked_.contains("MLC_MODEL")) << "only settings have variables";
}

TEST_F(SettingsTest, WrongValuesAreToldWithTheirSource) {
  Write("\nthreads = 5000\n");
  const Outcome file = Run({});
  EXPECT_EQ(file.end, 78);
  EXPECT_THAT(file.errors, HasSubstr("mlc-compile: " + File() + ":2: --threads: Value 5000"));
  EXPECT_EQ(Run({"--threads", "5"}).threads, 5) << "what is not used is not checked";
  variables_["MLC_THREADS"] = "many";
  const Outcome variable = Run({});
  EXPECT_EQ(variable.end, 78);
  EXPECT_THAT(variable.errors, HasSubstr("MLC_THREADS: --threads: Value many"));
  variables_["MLC_WORKER_ALLOW_USER_KERNELS"] = "perhaps";
  variables_["MLC_THREADS"] = "1";
  EXPECT_EQ(Run({}, Program::kWorker).end, 78);
  EXPECT_EQ(Run({"--threads", "many"}).end, 2) << "a wrong flag is a wrong command line";
  EXPECT_EQ(Run({"--config", "/nowhere/x.toml"}).end, 78);
  Write("banana = 1");
  EXPECT_EQ(Run({}).end, 78);
}

TEST_F(SettingsTest, AFileThatOthersCanChangeIsNotPermitted) {
  Write("threads = 1");
  std::filesystem::permissions(File(), std::filesystem::perms(0666));
  EXPECT_EQ(Run({}).end, 77);
}

TEST_F(SettingsTest, AFlagOfAPairMeansThePair) {
  variables_["MLC_TLS_CERT"] = "env.pem";
  variables_["MLC_TLS_KEY"] = "env.key";
  const Outcome flag = Run({"--tls-cert", "flag.pem"});
  EXPECT_EQ(flag.certificate, "flag.pem");
  EXPECT_EQ(flag.key, "") << "another certificate's key";
  EXPECT_EQ(Run({}).key, "env.key");
}

TEST_F(SettingsTest, ALogOnTheCommandLineStandsForTheServerOfAFile) {
  Write("server = 'lab:7443'\nlog = '/a.db'\n");
  const Outcome both = Run({});
  EXPECT_EQ(both.server, "lab:7443");
  EXPECT_EQ(both.log, "") << "they exclude each other";
  EXPECT_EQ(Run({"--log", "b.db"}).servers, 0u);
  const Outcome other = Run({"--server", "other:1"});
  EXPECT_EQ(other.server, "other:1");
  EXPECT_EQ(other.log, "");
  const Outcome tune = Run({}, Program::kTune);
  EXPECT_EQ(tune.server, "lab:7443");
  EXPECT_EQ(tune.log, "/a.db");
  EXPECT_EQ(Run({"--log", "b.db"}, Program::kTune).server, "");
  EXPECT_EQ(Run({"--server", ""}, Program::kTune).server, "") << "an empty address means none";
}

TEST_F(SettingsTest, ALocalServerNeedsNoIdentity) {
  Write("token-file = '/token'\n");
  variables_["MLC_TLS_CERT"] = "env.pem";
  const Outcome local = Run({"--server", "unix:/s"}, Program::kWorker);
  EXPECT_EQ(local.certificate + local.token, "");
  const Outcome remote = Run({"--server", "lab:7443"}, Program::kWorker);
  EXPECT_EQ(remote.certificate, "env.pem");
  EXPECT_EQ(remote.token, "/token");
}

TEST_F(SettingsTest, ASettingThatNeedsAnotherIsRefusedWithoutIt) {
  Write("[mlc-server]\nfleet-config = 'fleet.json'\n");
  const Outcome alone = Run({}, Program::kServer);
  EXPECT_EQ(alone.end, 78);
  EXPECT_THAT(alone.errors, HasSubstr(":2: --fleet-config needs --fleet"));
  Write("[mlc-server]\nfleet-config = 'fleet.json'\nfleet = 'local'\n");
  EXPECT_EQ(Run({}, Program::kServer).needing, folder_ + "/.config/mlc/fleet.json");
}

TEST_F(SettingsTest, AnEmptyTextOfAFileIsTheDefault) {
  Write("server = 'lab:7443'\n[mlc-tune]\nserver = ''\n");
  EXPECT_EQ(Run({}, Program::kTune).servers, 0u);
  EXPECT_EQ(Run({}, Program::kCompile).server, "lab:7443");
}

TEST_F(SettingsTest, HelpNamesTheVariables) {
  const Outcome help = Run({"--help"});
  EXPECT_EQ(help.end, 0);
  EXPECT_THAT(help.out, HasSubstr("MLC_THREADS"));
  EXPECT_EQ(help.out.find("MLC_MODEL"), std::string::npos);
}

TEST_F(SettingsTest, WhatIsPrintedIsAFileThatSaysTheSame) {
  Write("server = \"lab \\\"7443\\\"\\n\"\ntls-cert = 'me.pem'\n");
  variables_["MLC_THREADS"] = "7";
  const Outcome printed = Run({"--print-config", "--token-file", "/t"});
  ASSERT_EQ(printed.end, 0) << printed.errors;
  EXPECT_THAT(printed.out, HasSubstr("\nthreads = 7  # MLC_THREADS\n"));
  EXPECT_THAT(printed.out, HasSubstr("token-file = \"/t\"  # --token-file\n"));
  EXPECT_THAT(printed.out, HasSubstr("# " + File() + ":2\n"));
  EXPECT_THAT(printed.out, HasSubstr("# log is not set\n"));
  const toml::parse_result parsed = toml::parse(printed.out);
  ASSERT_TRUE(static_cast<bool>(parsed)) << printed.out;
  EXPECT_EQ(parsed["mlc-compile"]["server"].value<std::string>(), "lab \"7443\"\n");
  variables_.erase("MLC_THREADS");
  Write(printed.out);
  const Outcome again = Run({});
  ASSERT_FALSE(again.end.has_value()) << again.errors;
  EXPECT_EQ(again.server, "lab \"7443\"\n");
  EXPECT_EQ(again.threads, 7);
  EXPECT_EQ(again.certificate, folder_ + "/.config/mlc/me.pem");
}

TEST_F(SettingsTest, PrintingNeedsNothingElse) {
  EXPECT_EQ(Run({}, Program::kRun).end, 2) << "--model is required";
  const Outcome printed = Run({"--print-config"}, Program::kRun);
  EXPECT_EQ(printed.end, 0) << printed.errors;
  EXPECT_THAT(printed.out, HasSubstr("threads = 0  # default\n"));
  EXPECT_THAT(printed.out, HasSubstr("(missing)"));
}

TEST_F(SettingsTest, WhatIsSetAsideIsPrintedWithTheReason) {
  Write("server = 'lab:7443'\n");
  EXPECT_THAT(Run({"--print-config", "--log", "a.db"}).out,
              HasSubstr("# server: " + File() + ":1 is set aside, as --log is given\n"));
}

TEST(SettingTableTest, NamesAreUniqueInEachProgramAndVariablesAreUnique) {
  std::map<std::string, std::string> names;
  for (const Setting& setting : kSettings) {
    for (const Program program :
         {Program::kTune, Program::kCompile, Program::kRun, Program::kServer, Program::kWorker}) {
      if (!setting.IsOf(program)) continue;
      EXPECT_EQ(Find(program, setting.name), &setting) << setting.name << " has two rows";
    }
    const auto [at, added] = names.emplace(VariableOf(setting), setting.name);
    EXPECT_TRUE(added || at->second == setting.name) << VariableOf(setting);
    EXPECT_NE(VariableOf(setting), "MLC_CONFIG");
    if (setting.scope == Scope::kOwn) {
      EXPECT_EQ(setting.programs & (setting.programs - 1), 0) << setting.name;
    }
  }
}

}  // namespace
}  // namespace mlc::settings
