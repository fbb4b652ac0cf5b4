// Standard output carries results: a program whose results cannot be written has failed.
// Thread-safe.
#pragma once

#include "base/status.h"

namespace mlc::transport {

// Writes out what is buffered. ALREADY_EXISTS if that failed, now or before: the reader has left,
// or the disk is full.
Status FlushOutput();

// The exit code of a program that would end with `code`: if it would be success and output was
// lost, that is said and another one.
int EndProgram(const char* program, int code);

}  // namespace mlc::transport
