// Ends a program whose command line cannot be parsed or asks for help. Thread-compatible.
#pragma once

#include <iosfwd>
#include <string>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace mlc::transport {

// Prints what is wrong, with unknown arguments before missing ones, or the help or version that was
// asked for. Returns the exit code (docs/reference/exit-codes.md). `app` threw `error` when it
// parsed.
int EndParsing(const CLI::App& app, const CLI::ParseError& error, std::ostream& out,
               std::ostream& errors);
// To the standard streams.
int EndParsing(const CLI::App& app, const CLI::ParseError& error);

// Options that are added from now on belong to this group of --help, which lists groups, and the
// options in them, in the order in which they are added.
void BeginGroup(CLI::App& app, const char* name);

// Prints `wrong`, what is wrong with a command line that parses, and where to read more. Returns
// the exit code.
int EndUsage(const std::string& wrong, std::ostream& errors);

}  // namespace mlc::transport
