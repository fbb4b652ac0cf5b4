// The table of mlc-tune's subcommands, each a request to a server. The command line follows from
// it. The rows of the flags say which subcommands have them (tune_flags.h). To add one, add an
// enumerator of TuneVerb, a row here, and its effect (client/tune/server_verbs.cc). Constant;
// thread-safe.
#pragma once

#include <string>

#include "client/tune/options/tune_options.h"

namespace mlc::client {

struct VerbInfo {
  const char* name;
  TuneVerb verb;
  std::string TuneOptions::*about;  // its argument; null: none
  const char* positional;           // name of the argument in --help
  const char* of;                   // help text of the argument
  const char* help;
};

inline constexpr const char* kAJob = "id of the job, or its first digits";
inline constexpr const char* kAWorker = "name of the worker";

inline constexpr VerbInfo kTuneVerbs[] = {
    {"jobs", TuneVerb::kJobs, nullptr, nullptr, nullptr, "list the jobs of a server"},
    {"watch", TuneVerb::kWatch, &TuneOptions::job, "JOB", kAJob, "follow a job until it ends"},
    {"cancel", TuneVerb::kCancel, &TuneOptions::job, "JOB", kAJob,
     "stop a job; what it measured is kept"},
    {"workers", TuneVerb::kWorkers, nullptr, nullptr, nullptr, "list the workers of a server"},
    {"drain", TuneVerb::kDrain, &TuneOptions::named_worker, "WORKER", kAWorker,
     "let a worker finish its trials and exit; for administrators"},
    {"quarantine", TuneVerb::kQuarantine, &TuneOptions::named_worker, "WORKER", kAWorker,
     "give a worker no trials until it is released; for administrators"},
    {"release", TuneVerb::kRelease, &TuneOptions::named_worker, "WORKER", kAWorker,
     "end a worker's quarantine; for administrators"},
};

}  // namespace mlc::client
