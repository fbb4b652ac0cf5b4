// Runs a query in a child process, because it initialises something that this process must not
// have, such as the CUDA driver. Not thread-safe (forks).
#pragma once

#include <functional>
#include <string>

namespace mlc::client {

// Returns the result of `ask`, run in a forked child. Empty if the fork fails, or if the child ends
// without a result or takes longer than a minute.
std::string AnswerOfChild(const std::function<std::string()>& ask);

}  // namespace mlc::client
