// Starts a worker as a child of this process. It ends at the latest with the thread that started
// it. Ctrl-C does not reach it, because the process that started it drains it. Thread-safe.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/status.h"

namespace mlc::server::fleet {

// Starts the program `words[0]` with the other words, in a process group of its own. Its output
// goes to the descriptor `messages` or, if that is negative, to the standard error of this process.
// The caller reaps it. UNAVAILABLE if no process can be started; a program that does not exist ends
// with code 127.
Result<pid_t> StartWorkerProcess(std::vector<std::string> words, int messages);

}  // namespace mlc::server::fleet
