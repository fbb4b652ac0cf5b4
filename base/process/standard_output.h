// Standard output carries results: a program whose results cannot be written has failed.
// Thread-safe.
#pragma once

#include "base/status.h"

namespace mlc::transport {

// Flushes standard output. UNWRITABLE if this or an earlier write failed, because the reader
// has closed it or the disk is full.
Status FlushOutput();

// Returns the exit code for a program that would end with `code`. If `code` is success and output
// was lost, prints so and returns the code of that error.
int EndProgram(const char* program, int code);

}  // namespace mlc::transport
