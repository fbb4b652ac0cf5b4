// Risky work, such as compiling and running generated code, in forked children: a crash ends the
// child and becomes a Status here. The children share this process's memory as it is at the call;
// what they produce goes into files. REQUIRES: no other thread runs in this process.
#pragma once

#include <functional>

#include "compiler/base/status.h"

namespace mlc::build {

// Runs job(0) .. job(jobs-1), each in a child of its own, at most `parallel` at a time. All jobs
// are run; returns the error of the lowest job that failed: its own status, or INTERNAL naming the
// signal.
Status RunInChildren(int jobs, int parallel, const std::function<Status(int)>& job);

}  // namespace mlc::build
