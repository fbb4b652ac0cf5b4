// Filters that forbid some calls and allow all others, for children whose programs may make any
// call. Landlock limits their files. Private to this folder.
#pragma once

#include "base/sandbox/filter_program.h"

namespace mlc::build {

// Begins such a filter: denies calls that reach other processes (also by way of a descriptor), the
// kernel itself, shared memory or queues, and calls newer than those that are known here. The
// number of the call stays loaded.
Filter BeginDenyList();

}  // namespace mlc::build
