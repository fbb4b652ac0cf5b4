#include "base/process/arguments.h"

#include <CLI/CLI.hpp>
#include <iostream>
#include <string>
#include <vector>

#include "base/exit_code.h"

namespace mlc::transport {
namespace {

std::vector<std::string> UnknownArguments(const CLI::App& app) {
  std::vector<std::string> unknown = app.remaining(/*recurse=*/true);
  std::erase(unknown, "--");
  return unknown;
}

}  // namespace

int EndParsing(const CLI::App& app, const CLI::ParseError& error, std::ostream& out,
               std::ostream& errors) {
  const bool asked = error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success);
  const std::vector<std::string> unknown = UnknownArguments(app);
  if (asked || unknown.empty()) {
    return app.exit(error, out, errors) == 0 ? 0 : static_cast<int>(ExitCode::kUsage);
  }
  errors << (unknown.size() == 1 ? "The following argument was not expected:"
                                 : "The following arguments were not expected:");
  for (const std::string& argument : unknown) errors << " " << argument;
  return EndUsage("", errors);
}

void BeginGroup(CLI::App& app, const char* name) { app.option_defaults()->group(name); }

int EndUsage(const std::string& wrong, std::ostream& errors) {
  errors << wrong << "\nRun with --help for more information.\n";
  return static_cast<int>(ExitCode::kUsage);
}

int EndParsing(const CLI::App& app, const CLI::ParseError& error) {
  return EndParsing(app, error, std::cout, std::cerr);
}

}  // namespace mlc::transport
