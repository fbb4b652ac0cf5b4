#include "client/tune/options/tune_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <concepts>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

#include "client/progress/tune_report.h"
#include "client/tune/options/tune_flags.h"
#include "client/tune/options/tune_verbs.h"

namespace mlc::client {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

ParsedCommand Parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "mlc-tune");
  return ParseTuneCommand(static_cast<int>(arguments.size()), arguments.data(),
                          [](const char*) -> const char* { return nullptr; });
}

TEST(TuneOptionsTest, ReadsEveryFlag) {
  const ParsedCommand parsed = Parse(
      {"--model", "m.onnx", "--trials", "2000",  "--threads",     "2",     "--log",       "a.db",
       "--dim",   "N=4",    "--dim",    "S=128", "--time-budget", "1h30m", "--tolerance", "1e-3",
       "--seed",  "7",      "--fresh",  "--json"});
  ASSERT_EQ(parsed.exit_code, -1) << parsed.message;
  EXPECT_EQ(parsed.options.model, "m.onnx");
  EXPECT_EQ(parsed.options.trials, 2000);
  EXPECT_EQ(parsed.options.dims.size(), 2u);
  EXPECT_EQ(parsed.options.time_budget_ms, 5'400'000);
  EXPECT_EQ(parsed.options.tolerance, 1e-3);
  EXPECT_TRUE(parsed.options.fresh && parsed.options.json);
}

TEST(TuneOptionsTest, AToleranceOfZeroIsNotTheDefault) {
  EXPECT_FALSE(Parse({"--model", "m", "--trials", "5"}).options.tolerance.has_value());
  const ParsedCommand zero = Parse({"--model", "m", "--trials", "5", "--tolerance", "0"});
  ASSERT_EQ(zero.exit_code, -1) << zero.message;
  EXPECT_EQ(zero.options.tolerance, 0.0);
  EXPECT_THAT(zero.options.Command(), HasSubstr(" --tolerance 0"));
  EXPECT_THAT(zero.options.ModelWords(), ::testing::Contains("--tolerance"));
}

TEST(TuneOptionsTest, RefusesWhatIsNoTolerance) {
  for (const char* text : {"nan", "inf", "-1e-4", "-0.5", "1", "2", "1e-4x", "", "much"}) {
    const ParsedCommand parsed = Parse({"--model", "m", "--trials", "5", "--tolerance", text});
    EXPECT_EQ(parsed.exit_code, 2) << text;
    EXPECT_THAT(parsed.message, HasSubstr("is no tolerance: give 0, for no approximate algorithm, "
                                          "or a number below 1, for example 1e-4"));
  }
}

TEST(TuneOptionsTest, AReportIsOfTheEmbeddedServersLog) {
  const ParsedCommand local = Parse({"--model", "m", "--trials", "5", "--report", "r one.html"});
  ASSERT_EQ(local.exit_code, -1) << local.message;
  EXPECT_EQ(local.options.report, "r one.html");
  EXPECT_THAT(local.options.Command(), HasSubstr(" --report 'r one.html'"));
  const ParsedCommand remote =
      Parse({"--model", "m", "--trials", "5", "--report", "r.html", "--server", "a:1"});
  EXPECT_EQ(remote.exit_code, 2);
  EXPECT_THAT(remote.message, HasSubstr("mlc-log report makes the same report"));
}

TEST(TuneOptionsTest, RefusesWrongUseWithCode2) {
  EXPECT_EQ(Parse({"--trials", "5"}).exit_code, 2);
  EXPECT_EQ(Parse({"--model", "m"}).exit_code, 2);
  EXPECT_EQ(Parse({"--model", "m", "--trials", "0"}).exit_code, 2);
  EXPECT_EQ(Parse({"--model", "m", "--trials", "5", "--resume", "--fresh"}).exit_code, 2);
  EXPECT_EQ(Parse({"--model", "m", "--trials", "5", "--json", "--json-lines"}).exit_code, 2);
  const ParsedCommand budget = Parse({"--model", "m", "--trials", "5", "--time-budget", "soon"});
  EXPECT_EQ(budget.exit_code, 2);
  EXPECT_THAT(budget.message, HasSubstr("'soon' is not a duration"));
}

TEST(TuneOptionsTest, ASubcommandIsARequestToAServer) {
  const ParsedCommand watch = Parse({"watch", "beef", "--server", "lab:7443"});
  ASSERT_EQ(watch.exit_code, -1) << watch.message;
  EXPECT_EQ(watch.options.verb, TuneVerb::kWatch);
  EXPECT_EQ(watch.options.job, "beef");
  EXPECT_EQ(watch.options.server, "lab:7443");
  const ParsedCommand held = Parse({"quarantine", "gpu-07", "--server", "lab:7443", "-q"});
  EXPECT_EQ(held.options.verb, TuneVerb::kQuarantine);
  EXPECT_EQ(held.options.named_worker, "gpu-07");
  EXPECT_TRUE(held.options.quiet);
  const ParsedCommand before = Parse({"--server", "lab:7443", "--tls-ca", "ca.pem", "jobs"});
  ASSERT_EQ(before.exit_code, -1) << "flags of the connection may stand before it";
  EXPECT_EQ(before.options.verb, TuneVerb::kJobs);
  EXPECT_EQ(before.options.channel.tls.authority, "ca.pem");
  for (const std::vector<const char*>& wrong :
       std::vector<std::vector<const char*>>{{"jobs"},
                                             {"watch", "beef"},
                                             {"watch", "--server", "s"},
                                             {"jobs", "watch", "beef", "--server", "s"},
                                             {"jobs", "--server", "s", "--detach"},
                                             {"jobs", "--server", "s", "--trials", "5"},
                                             {"cancel", "beef", "--server", "s", "--json"},
                                             {"--cuda-kernel", "k", "jobs", "--server", "s"},
                                             {"--server", "s", "--detach", "jobs"},
                                             {"--jobs", "--server", "s"}}) {
    EXPECT_EQ(Parse(wrong).exit_code, 2) << wrong.back();
  }
  EXPECT_THAT(Parse({"--trials", "5", "jobs", "--server", "s"}).message,
              HasSubstr("--trials does not go with jobs"));
}

TEST(TuneOptionsTest, EachSubcommandIsReadAndItsHelpShowsOnlyWhatApplies) {
  for (const VerbInfo& verb : kTuneVerbs) {
    std::vector<const char*> words = {verb.name, "--server", "s"};
    if (verb.about != nullptr) words.push_back("beef");
    const ParsedCommand parsed = Parse(words);
    ASSERT_EQ(parsed.exit_code, -1) << verb.name << ": " << parsed.message;
    EXPECT_EQ(parsed.options.verb, verb.verb);
    if (verb.about != nullptr) {
      EXPECT_EQ(parsed.options.*(verb.about), "beef") << verb.name;
    }
    const ParsedCommand help = Parse({verb.name, "--help"});
    EXPECT_EQ(help.exit_code, 0);
    EXPECT_THAT(help.message, HasSubstr("Usage: mlc-tune " + std::string(verb.name)));
    EXPECT_THAT(help.message, HasSubstr("--tls-ca"));
    EXPECT_THAT(help.message, Not(HasSubstr("--trials")));
    EXPECT_EQ(help.message.find("--reconnect-timeout") != std::string::npos,
              verb.verb == TuneVerb::kWatch)
        << verb.name;
  }
}

TEST(TuneOptionsTest, WhatNeedsAServerIsRefusedWithoutOne) {
  const ParsedCommand detach = Parse({"--server", "lab:7443", "--model", "m.onnx", "--trials", "5",
                                      "--detach", "--priority", "-3"});
  ASSERT_EQ(detach.exit_code, -1) << detach.message;
  EXPECT_TRUE(detach.options.detach);
  EXPECT_EQ(detach.options.priority, -3);
  EXPECT_THAT(detach.options.Command(), HasSubstr(" --priority -3"));
  for (const std::vector<const char*>& wrong : std::vector<std::vector<const char*>>{
           {"--model", "m", "--trials", "5", "--detach"},
           {"--model", "m", "--trials", "5", "--priority", "1"},
           {"--server", "s", "--detach"},
           {"--server", "s", "--model", "m", "--trials", "5", "--priority", "101"}}) {
    EXPECT_EQ(Parse(wrong).exit_code, 2) << wrong.back();
  }
}

TEST(TuneOptionsTest, CommandsAtTheSameServerHaveItsFlags) {
  TuneOptions options;
  options.server = "my lab";
  EXPECT_EQ(options.VerbCommand("jobs"), "mlc-tune jobs --server 'my lab'");
  options.channel.tls.authority = "ca.pem";
  options.channel.tls.revoked = "crl.pem";
  EXPECT_EQ(options.VerbCommand("watch beef"),
            "mlc-tune watch beef --server 'my lab' --tls-ca ca.pem --tls-crl crl.pem");
}

TEST(TuneOptionsTest, HowLongToRetryIsADuration) {
  EXPECT_EQ(Parse({"watch", "beef", "--server", "s", "--reconnect-timeout", "2h"})
                .options.reconnect_timeout_ms,
            7'200'000);
  const ParsedCommand never =
      Parse({"watch", "beef", "--server", "s", "--reconnect-timeout", "never"});
  EXPECT_EQ(never.exit_code, 2);
  EXPECT_THAT(never.message, HasSubstr("--reconnect-timeout: 'never' is not a duration"));
}

TEST(TuneOptionsTest, AUserKernelStandsForAModel) {
  const ParsedCommand parsed =
      Parse({"--cuda-kernel", "k.cu", "--workload", "w.txt", "--entry", "scale", "--grid", "4096",
             "--block", "256", "--shared", "1024", "--server", "lab:7443"});
  ASSERT_EQ(parsed.exit_code, -1) << parsed.message;
  EXPECT_TRUE(parsed.options.is_raw());
  EXPECT_EQ(parsed.options.target, "cuda");
  EXPECT_EQ(parsed.options.Command(),
            "mlc-tune --cuda-kernel k.cu --workload w.txt --entry scale --grid 4096 --block 256 "
            "--shared 1024 --target cuda --server lab:7443");
  const ParsedCommand here = Parse({"--cuda-kernel", "k.cu", "--workload", "w", "--entry", "k",
                                    "--grid", "64,8,2", "--block", "32,4"});
  EXPECT_EQ(here.exit_code, -1) << "without a server";
  EXPECT_THAT(here.options.Command(), HasSubstr("--grid 64,8,2 --block 32,4 "));
  for (const std::vector<const char*>& wrong : std::vector<std::vector<const char*>>{
           {"--cuda-kernel", "k.cu"},
           {"--workload", "w"},
           {"--model", "m", "--trials", "5", "--entry", "k"},
           {"--cuda-kernel", "k", "--workload", "w", "--entry", "k", "--grid", "1"},
           {"--cuda-kernel", "k", "--workload", "w", "--entry", "k", "--grid", "0", "--block", "1"},
           {"--cuda-kernel", "k", "--workload", "w", "--entry", "k", "--grid", "1", "--block",
            "1025"},
           {"--cuda-kernel", "k", "--workload", "w", "--entry", "k", "--grid", "1", "--block",
            "32,33"},
           {"--cuda-kernel", "k", "--workload", "w", "--entry", "k", "--grid", "1,", "--block",
            "1"},
           {"--cuda-kernel", "k", "--workload", "w", "--entry", "k", "--grid", "1,2,3,4", "--block",
            "1"},
           {"--cuda-kernel", "k", "--workload", "w", "--entry", "k", "--grid", "1", "--block", "1",
            "--trials", "5"},
           {"--cuda-kernel", "k", "--workload", "w", "--entry", "k", "--grid", "1", "--block", "1",
            "--server", "s", "jobs"}}) {
    EXPECT_EQ(Parse(wrong).exit_code, 2) << wrong.back();
  }
}

// A value that is not the default, as one would write it.
std::string Other(const FlagInfo& flag, const std::string&) {
  return flag.choices.empty() ? "given" : flag.choices.back();
}
std::string Other(const FlagInfo&, const std::vector<std::string>&) { return "N=4"; }
std::string Other(const FlagInfo&, const std::optional<double>&) { return "0.5"; }
std::string Other(const FlagInfo&, const std::optional<target::Dim3>&) { return "2,3,4"; }
template <std::integral Integer>
std::string Other(const FlagInfo& flag, Integer) {
  if (flag.is_duration) return "90s";
  return std::to_string(flag.most == flag.least ? 7 : flag.most);
}

std::vector<std::string> Words(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

TEST(TuneOptionsTest, EachFlagOfTheTableIsReadAndGoesWhereItsRowSays) {
  const TuneOptions defaults;
  ForEachFlag([&](const auto& flag) {
    using Value = std::decay_t<decltype(defaults.*(flag.member))>;
    const std::string name = LongName(flag.info);
    std::vector<std::string> words;
    // Only an embedded server has a log to report on, and a dry run asks none.
    const bool is_local = name == "--server" || name == "--report" || name == "--page" ||
                          name == "--dry-run" || name == "--replay-only";
    if (!is_local) words = {"--server", "lab"};
    // They need each other, and go without a model.
    const bool of_kernel = flag.info.group == FlagGroup::kKernel;
    // A specification has the launch in it.
    const bool needs_launch = of_kernel && name != "--kernel";
    for (const char* word : {"--cuda-kernel", "--workload", "--entry"}) {
      if (needs_launch && name != word) words.insert(words.end(), {word, "file"});
    }
    for (const char* word : {"--grid", "--block"}) {
      if (needs_launch && name != word) words.insert(words.end(), {word, "8"});
    }
    if (name == "--kernel") words.insert(words.end(), {"--trials", "5"});
    for (const char* word : {"--model", "--trials"}) {
      if (!of_kernel && name != word) words.insert(words.end(), {word, "5"});
    }
    words.push_back(name);
    const std::string value = Other(flag.info, defaults.*(flag.member));
    if constexpr (!std::same_as<Value, bool>) words.push_back(value);
    std::vector<const char*> arguments;
    for (const std::string& word : words) arguments.push_back(word.c_str());
    const ParsedCommand parsed = Parse(arguments);
    ASSERT_EQ(parsed.exit_code, -1) << name << ": " << parsed.message;
    EXPECT_NE(parsed.options.*(flag.member), defaults.*(flag.member)) << name;
    const auto has = [&](const std::vector<std::string>& all) {
      const auto at = std::find(all.begin(), all.end(), name);
      if (at == all.end() || std::same_as<Value, bool>) return at != all.end();
      return at + 1 != all.end() && *(at + 1) == value;
    };
    if (name != "--server") {
      EXPECT_EQ(has(Words(parsed.options.Command())), flag.info.repeats != Repeats::kNo) << name;
    }
    EXPECT_EQ(has(parsed.options.ModelWords()), flag.info.repeats == Repeats::kCompile) << name;
  });
}

TEST(TuneOptionsTest, ADryRunNeedsAModelAlone) {
  const ParsedCommand parsed = Parse({"--model", "m", "--dry-run"});
  EXPECT_EQ(parsed.exit_code, -1) << parsed.message;
  EXPECT_TRUE(parsed.options.dry_run);
  EXPECT_EQ(Parse({"--dry-run"}).exit_code, 2);
  EXPECT_THAT(Parse({"--model", "m", "--dry-run", "--server", "a:1"}).message,
              HasSubstr("excludes"));
}

TEST(TuneOptionsTest, AReplayNeedsAModelAloneAndMeasuresNothing) {
  const ParsedCommand parsed = Parse({"--model", "m", "--replay-only", "--reproducible"});
  EXPECT_EQ(parsed.exit_code, -1) << parsed.message;
  EXPECT_TRUE(parsed.options.replay_only && parsed.options.reproducible);
  EXPECT_THAT(Parse({"--replay-only"}).message, HasSubstr("--model is required"));
  EXPECT_THAT(Parse({"--model", "m", "--replay-only", "--server", "a:1"}).message,
              HasSubstr("excludes"));
  for (const std::vector<const char*>& more : {std::vector<const char*>{"--dry-run"},
                                               {"--fresh"},
                                               {"--time-budget", "5m"},
                                               {"--whole-model", "3"},
                                               {"--page", "localhost:0"},
                                               {"--report", "r.html"}}) {
    std::vector<const char*> words = {"--model", "m", "--replay-only"};
    words.insert(words.end(), more.begin(), more.end());
    const ParsedCommand refused = Parse(words);
    EXPECT_EQ(refused.exit_code, 2) << more[0];
    EXPECT_THAT(refused.message, HasSubstr(more[0]));
  }
  EXPECT_THAT(Parse({"--kernel", "k.json", "--trials", "5", "--replay-only"}).message,
              HasSubstr("--replay-only goes with --model"));
}

TEST(TuneOptionsTest, AReproducibleJobHasNoTimeBudget) {
  const ParsedCommand parsed = Parse({"--model", "m", "--trials", "5", "--reproducible"});
  EXPECT_THAT(parsed.options.Command(), HasSubstr(" --reproducible"));
  EXPECT_THAT(CompileCommand(parsed.options), HasSubstr(" --reproducible"));
  EXPECT_THAT(
      Parse({"--model", "m", "--trials", "5", "--reproducible", "--time-budget", "5m"}).message,
      HasSubstr("excludes"));
}

TEST(TuneOptionsTest, HelpIsSuccess) {
  const ParsedCommand help = Parse({"--help"});
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_THAT(help.message, HasSubstr("--time-budget"));
}

TEST(TuneOptionsTest, Durations) {
  EXPECT_EQ(*ParseDuration("90"), 90'000);
  EXPECT_EQ(*ParseDuration("90s"), 90'000);
  EXPECT_EQ(*ParseDuration("10m"), 600'000);
  EXPECT_EQ(*ParseDuration("1h1m1s"), 3'661'000);
  for (const char* bad : {"", "0", "-5", "m", "1d", "1m x", "99999999999"}) {
    EXPECT_EQ(ParseDuration(bad).status().code(), StatusCode::kInvalidArgument) << bad;
  }
}

TEST(TuneOptionsTest, TheCommandIsQuotedForAShell) {
  EXPECT_EQ(ShellQuoted("a/b-1.onnx"), "a/b-1.onnx");
  EXPECT_EQ(ShellQuoted("a b;rm"), "'a b;rm'");
  EXPECT_EQ(ShellQuoted("it's"), "'it'\\''s'");
  EXPECT_EQ(ShellQuoted(""), "''");
  TuneOptions options;
  options.model = "a.onnx";
  options.trials = 5;
  options.target = "cuda:1";
  options.precision = "fp16";
  options.skipped_passes = {"merge_siblings"};
  options.cuda_home = "/opt/my cuda";
  options.worker = "/opt/worker";
  EXPECT_EQ(options.Command(),
            "mlc-tune --model a.onnx --trials 5 --target cuda:1 --log tuning.db --precision fp16 "
            "--skip-pass merge_siblings --cuda-home '/opt/my cuda' --worker /opt/worker");
  EXPECT_EQ(CompileCommand(options),
            "mlc-compile --model a.onnx --target cuda:1 --precision fp16 "
            "--skip-pass merge_siblings --cuda-home '/opt/my cuda' --log tuning.db -o a-lib");
  options = {};
  options.model = "my model.onnx";
  options.trials = 10;
  options.dims = {"N=4"};
  EXPECT_EQ(options.Command(),
            "mlc-tune --model 'my model.onnx' --trials 10 --log tuning.db --dim N=4");
  EXPECT_EQ(CompileCommand(options),
            "mlc-compile --model 'my model.onnx' --dim N=4 --log tuning.db -o 'my model-lib'");
  options.server = "tuner.lab:7443";
  options.channel.tls.authority = "ca.pem";
  EXPECT_EQ(CompileCommand(options),
            "mlc-compile --model 'my model.onnx' --dim N=4 --server tuner.lab:7443 --tls-ca ca.pem "
            "-o 'my model-lib'");
}

}  // namespace
}  // namespace mlc::client
