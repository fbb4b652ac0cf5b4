// Which class of device `--target cpu` and `--target cuda` mean when a server is asked: the machine
// at hand need not be one of its workers. Thread-safe.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "client/service/tuner_client.h"
#include "compiler/target/target.h"

namespace mlc::client {

// The one class among `texts` (of targets or classes) that is of the device of `word` and, if
// `threads` is not 0, of so many threads; texts of an unknown form are passed over. `here` is taken
// where it is among them, and where there are none. INVALID_ARGUMENT, with the list, for several;
// the error of `here` if there are none and it failed. Pure.
Result<target::Target> ClassAmong(const std::vector<std::string>& texts, const std::string& word,
                                  int threads, const Result<target::Target>& here);

// Targets of the workers in contact, and classes that the server's log has records of.
Result<std::vector<std::string>> TargetsOfWorkers(TunerClient& server);
Result<std::vector<std::string>> TargetsOfRecords(TunerClient& server);

// --target as `text`: ClassAmong the workers in contact for the words cpu and cuda, and whatever
// ChooseTarget says of other texts. Says on stderr if it is another class than this machine's.
Result<target::Target> TargetOfWorkers(TunerClient& server, const std::string& text, int threads);
// The same with the classes that the server's log has records of.
Result<target::Target> TargetOfRecords(TunerClient& server, const std::string& text, int threads);

}  // namespace mlc::client
