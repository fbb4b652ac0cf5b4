// The subcommands of mlc-tune, each a request to a server, once: the command line follows from this
// table. Which flags one has, the flags' rows say (tune_flags.h). A new one is an enumerator of
// TuneVerb, a row here, and what it does (client/tune/server_verbs.cc). Constant; thread-safe.
#pragma once

#include <string>

#include "client/tune/options/tune_options.h"

namespace mlc::client {

struct VerbInfo {
  const char* name;
  TuneVerb verb;
  std::string TuneOptions::*about;  // what it is about; null: nothing
  const char* positional;           // how --help calls that
  const char* of;                   // what --help says of that
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
     "have a worker finish what it holds and leave; for administrators"},
    {"quarantine", TuneVerb::kQuarantine, &TuneOptions::named_worker, "WORKER", kAWorker,
     "give a worker no trials until it is released; for administrators"},
    {"release", TuneVerb::kRelease, &TuneOptions::named_worker, "WORKER", kAWorker,
     "end a worker's quarantine; for administrators"},
};

}  // namespace mlc::client
