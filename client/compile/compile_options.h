// The command line of mlc-compile. Not thread-safe.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/rpc/channel.h"
#include "base/settings/config_file.h"

namespace mlc::client {

struct CompileOptions {
  std::string model;
  std::string log;
  transport::ChannelOptions server;  // no address: no server
  std::string output;
  std::string name;  // empty: from the folder
  std::string lock;  // empty: in the folder
  std::string locked;
  std::string keep;
  std::string weights = "embed";
  std::string transfer = "on";
  std::string user_kernels = "on";
  std::string target = "auto";
  std::string precision = "model";
  std::string cuda_home;
  std::string cubin_cache;
  std::string emit;  // empty: the library
  std::vector<std::string> print_after;
  std::vector<std::string> skipped_passes;
  std::vector<std::string> dims;
  std::vector<std::string> constants;
  std::optional<double> tolerance;  // none: what the precision needs
  int threads = 0;                  // 0: all usable CPUs
  int task = -1;                    // -1: all of them
  bool require_tuned = false;
  bool reproducible = false;
  bool no_note_untuned = false;
  bool json = false;
  bool verbose = false;
};

// Reads the command line, environment variables and the configuration file (base/settings). For
// --help or an error, it prints the text, sets the exit code and returns nothing.
std::optional<CompileOptions> ReadCompileOptions(int argc, char** argv,
                                                 const settings::Lookup& lookup, int& exit_code);

}  // namespace mlc::client
