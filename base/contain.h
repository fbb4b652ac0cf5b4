// For work on other people's input, with much code of ours, in a process that must live on.
#pragma once

#include <functional>

#include "base/status.h"

namespace mlc {

// Runs `work`. A failed MLC_CHECK of this thread ends it instead of the process: INTERNAL with the
// check's text. So do exhausted memory and other exceptions. What it has built so far is destroyed;
// what it has changed outside must not be used any more. May be nested. Faults of memory and
// arithmetic end the process as ever.
Status Contain(const std::function<Status()>& work);

}  // namespace mlc
