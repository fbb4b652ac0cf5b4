// Asks a question in a child process, because asking initialises something that this process must
// not have, such as the CUDA driver.
#pragma once

#include <functional>
#include <string>

namespace mlc::client {

// Returns what `ask` returns in a forked child. Empty if there is no child, or if it ends without
// an answer or takes longer than a minute.
std::string AnswerOfChild(const std::function<std::string()>& ask);

}  // namespace mlc::client
