// Exit codes of every program; docs/reference/exit-codes.md explains each to users.
#pragma once

#include "base/status.h"

namespace mlc {

enum class ExitCode : int {
  kOk = 0,
  kInternal = 1,         // a bug in the program
  kUsage = 2,            // wrong command line
  kNoResult = 3,         // nothing found, or untuned tasks with --require-tuned; a failed --check
  kTooManyFailures = 4,  // the tuning limit was reached with too many failed trials
  kBadInput = 65,        // a broken, hostile or unsupported model or data file
  kUnavailable = 69,     // server not reachable
  kCannotWrite = 73,     // an output file cannot be written
  kStorage = 74,         // I/O error of the log
  kTemporary = 75,       // try again
  kPermission = 77,      // not allowed
  kVersion = 78,         // log or library of a newer version
  kInterrupted = 130,    // Ctrl-C
};

// The exit code that fits a failed status of a program's main job.
ExitCode ExitCodeOf(const Status& status);

}  // namespace mlc
