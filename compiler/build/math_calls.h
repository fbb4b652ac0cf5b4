// The functions that a user-supplied kernel in C may call: those of the C library that copy memory
// or compute, and nothing else. Thread-safe.
#pragma once

#include <string_view>

namespace mlc::build {

// Opens the library of vector functions (libmvec), which compilers call in loops with math
// functions under -ffast-math. It is not an error that there is none: such calls are then not
// found. Call it before a sandbox forbids to open files; children inherit it.
void OpenVectorMath();

// The address of a function that only computes, or null. Names of vector functions, such as
// _ZGVdN8v_expf, are found after OpenVectorMath only.
void* FindMathFunction(std::string_view name);

}  // namespace mlc::build
