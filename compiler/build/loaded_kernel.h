// An object file that is loaded and runnable in this process, for runner children, tests and
// compile-time preparations; a library links objects instead. Not thread-safe while loading; the
// functions are.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "compiler/runtime/abi.h"

namespace mlc::build {

class LoadedObject {
 public:
  virtual ~LoadedObject() = default;
  // The phases of a kernel in the object, in order (extents from codegen::LayoutOf).
  virtual Result<std::vector<mlc_phase_fn>> Phases(std::string_view kernel_name,
                                                   int count) const = 0;
};

// What an object may call. Generated kernels call nothing; kernels in C may call functions of the C
// library that copy memory and compute (memcpy, expf, ...), and no others.
enum class ObjectCalls : uint8_t { kNone, kMath };

// Maps the object's code and data into memory and relocates it. DATA_LOSS for bytes that are not an
// object of this machine, and for an object that calls something else.
Result<std::unique_ptr<LoadedObject>> LoadObject(std::string_view object,
                                                 ObjectCalls calls = ObjectCalls::kNone);

}  // namespace mlc::build
