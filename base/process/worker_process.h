// A worker as a child of this process: it dies with the thread that started it, at the latest, and
// Ctrl-C is not for it, because the process that started it drains it.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/status.h"

namespace mlc::server::fleet {

// Starts the program `words[0]` with the other words, in a process group of its own. What it prints
// goes to the descriptor `messages`, or, if that is negative, to our standard error. The caller
// reaps it. UNAVAILABLE if there can be no more processes; a program that is not there ends with
// code 127.
Result<pid_t> StartWorkerProcess(std::vector<std::string> words, int messages);

}  // namespace mlc::server::fleet
