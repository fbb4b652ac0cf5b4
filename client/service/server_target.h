// Resolves `--target cpu` and `--target cuda` for a server, whose workers may differ from this
// machine. Thread-safe.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "client/service/tuner_client.h"
#include "compiler/target/target.h"

namespace mlc::client {

// Returns the only class among `texts` (of targets or classes) that is of the device `word` and, if
// `threads` is not 0, has this number of threads. Ignores texts of an unknown form. If `here` is
// among the classes, or if there are none, it returns `here`. INVALID_ARGUMENT, with the list, for
// several classes; the error of `here` if there are none. Pure.
Result<target::Target> ClassAmong(const std::vector<std::string>& texts, const std::string& word,
                                  int threads, const Result<target::Target>& here);

// Targets of the connected workers, and classes of the records in the server's log.
Result<std::vector<std::string>> TargetsOfWorkers(TunerClient& server);
Result<std::vector<std::string>> TargetsOfRecords(TunerClient& server);

// Resolves --target `text`: for cpu and cuda ClassAmong the connected workers, else ChooseTarget.
// Prints to stderr if the class is not this machine's.
Result<target::Target> TargetOfWorkers(TunerClient& server, const std::string& text, int threads);
// The same with the classes of the records in the server's log.
Result<target::Target> TargetOfRecords(TunerClient& server, const std::string& text, int threads);

}  // namespace mlc::client
