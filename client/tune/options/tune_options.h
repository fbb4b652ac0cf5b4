// The command line of mlc-tune, parsed and checked. Pure, except for the help text, variables and
// the configuration file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/rpc/channel.h"
#include "base/settings/config_file.h"
#include "base/status.h"
#include "compiler/target/launch.h"

namespace mlc::client {

// The action of mlc-tune: without a subcommand kTune, else a request to a server.
enum class TuneVerb : uint8_t {
  kTune,
  kJobs,
  kWatch,
  kCancel,
  kWorkers,
  kDrain,
  kQuarantine,
  kRelease
};

struct TuneOptions {
  TuneVerb verb = TuneVerb::kTune;
  std::string job;           // of watch and cancel: an id, or its first digits
  std::string named_worker;  // of drain, quarantine and release
  bool detach = false;       // submit and exit
  int priority = 0;
  std::string label;                       // of the job, for people; empty: the model's file
  int64_t reconnect_timeout_ms = 900'000;  // how long to retry if the connection is lost
  std::string model;
  // For a user-supplied kernel: files, the function, its launch.
  std::string workload;
  std::string cuda_kernel;
  std::string kernel;  // the specification of one with tunable parameters
  std::string entry;
  std::optional<target::Dim3> grid;
  std::optional<target::Dim3> block;
  int64_t shared = 0;
  int64_t trials = 0;
  std::string target = "auto";
  int threads = 0;  // 0: all usable CPUs
  std::string log = "tuning.db";
  std::string report;                 // HTML file to write at the end; empty: none
  std::string page;                   // HOST:PORT of the live page; empty: none
  std::string server;                 // empty: embedded
  transport::ChannelOptions channel;  // how to reach it; without the address
  std::vector<std::string> dims;
  std::vector<std::string> constants;
  int64_t time_budget_ms = 0;
  std::string precision = "model";
  std::optional<double> tolerance;  // none: what the precision needs
  std::string cuda_home;
  std::string cubin_cache;  // as mlc-worker takes it
  std::vector<std::string> skipped_passes;
  uint64_t seed = 0;
  bool resume = false;
  bool fresh = false;
  bool json = false;
  bool json_lines = false;
  bool quiet = false;
  bool plain = false;
  bool dry_run = false;
  bool replay_only = false;
  bool reproducible = false;
  bool verbose = false;
  std::string worker;  // path of mlc-worker; empty: beside this program

  int whole_model = -1;  // runners-up to time in the whole model; -1: by the trials

  // True if a user-supplied kernel takes the place of a model.
  bool is_raw() const { return !cuda_kernel.empty() || !kernel.empty(); }
  // The address of the server and the options of the connection.
  transport::ChannelOptions Server() const;
  // The flags with which mlc-compile makes the same tasks of the model.
  std::vector<std::string> ModelWords() const;
  // The command that repeats this one, quoted for a shell.
  std::string Command() const;
  // " --log FILE", or the flags of the server and of this user's identity there.
  std::string SourceFlags() const;
  // "mlc-tune watch JOB --server S --tls-ca F": `verb`, with what it is about, at the same server.
  std::string VerbCommand(const std::string& verb) const;
};

// "90", "90s", "10m", "2h", "1h30m" as milliseconds.
Result<int64_t> ParseDuration(const std::string& text);

struct ParsedCommand {
  TuneOptions options;
  std::string message;  // help, version or what is wrong with the arguments
  int exit_code = -1;   // -1: continue
};
// Parses the command line. Environment variables and the configuration file replace flags that are
// not given (base/settings).
ParsedCommand ParseTuneCommand(int argc, const char* const* argv, const settings::Lookup& lookup);

// `text` as one word of a POSIX shell.
std::string ShellQuoted(const std::string& text);

}  // namespace mlc::client
