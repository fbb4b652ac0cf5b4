// A question that is asked in a child process, because asking initialises what this process is not
// to have, such as the CUDA driver.
#pragma once

#include <functional>
#include <string>

namespace mlc::client {

// What `ask` returns in a forked child; empty if there is no child, or it ends without a word or
// within a minute not at all.
std::string AnswerOfChild(const std::function<std::string()>& ask);

}  // namespace mlc::client
