// mlc-tune: cuts a model into tasks, has them tuned by a server, shows how it goes. The server is
// embedded unless --server names one; that one's jobs go on without us, and can be listed, watched
// and cancelled.
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>

#include "base/exit_code.h"
#include "base/process/standard_files.h"
#include "base/process/standard_output.h"
#include "client/tune/dry_run.h"
#include "client/tune/interrupt.h"
#include "client/tune/options/tune_options.h"
#include "client/tune/replay_only.h"
#include "client/tune/server_verbs.h"
#include "client/tune/tune_local.h"
#include "client/tune/tune_remote.h"
#include "client/tune/tune_session.h"

namespace mlc::client {
namespace {

std::string_view FromEnvironment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// A view that is drawn again and again is for people who see it on a terminal that can move up.
ProgressStyle StyleOf(const TuneOptions& options) {
  if (options.json_lines) return ProgressStyle::kJsonLines;
  if (options.quiet) return ProgressStyle::kNone;
  const std::string_view terminal = FromEnvironment("TERM");
  const bool redraws = !terminal.empty() && terminal != "dumb" && isatty(STDERR_FILENO) == 1;
  const bool wanted = !options.plain && !options.verbose && FromEnvironment("NO_COLOR").empty();
  return redraws && wanted ? ProgressStyle::kTerminal : ProgressStyle::kPlain;
}

ProgressForm FormOf(const TuneOptions& options) {
  return {StyleOf(options), CharsetOf(FromEnvironment("LC_ALL"), FromEnvironment("LC_CTYPE"),
                                      FromEnvironment("LANG"))};
}

Result<ExitCode> Run(const TuneSession& session) {
  if (session.options.verb != TuneVerb::kTune) return AtServer(session);
  if (session.options.dry_run) return DryRun(session);
  if (session.options.replay_only) return ReplayOnly(session);
  return session.options.server.empty() ? TuneLocal(session) : TuneRemote(session);
}

int Main(int argc, char** argv) {
  const ParsedCommand command =
      ParseTuneCommand(argc, argv, [](const char* name) { return std::getenv(name); });
  if (command.exit_code >= 0) {
    (command.exit_code == 0 ? std::cout : std::cerr) << command.message;
    return command.exit_code;
  }
  const TuneOptions& options = command.options;
  Interrupt interrupt;
  const Result<ExitCode> code = Run({options, options.Server(), FormOf(options), interrupt});
  if (code.ok()) return static_cast<int>(*code);
  std::cerr << "mlc-tune: " << code.status().message() << std::endl;
  return static_cast<int>(ExitCodeOf(code.status()));
}

}  // namespace
}  // namespace mlc::client

int main(int argc, char** argv) {
  mlc::transport::OpenStandardFiles();
  mlc::transport::EnableChildWait();
  return mlc::transport::EndProgram("mlc-tune", mlc::client::Main(argc, argv));
}
