// How programs answer a command line that they cannot take. Thread-compatible.
#pragma once

#include <iosfwd>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace mlc::transport {

// Says what is wrong, unknown arguments before anything that is missing; or prints the help or
// version that was asked for. Returns the exit code (docs/reference/exit-codes.md). `error` was
// thrown by `app` as it parsed.
int EndParsing(const CLI::App& app, const CLI::ParseError& error, std::ostream& out,
               std::ostream& errors);
// To the standard streams.
int EndParsing(const CLI::App& app, const CLI::ParseError& error);

}  // namespace mlc::transport
