// The small device functions that generated code calls: operators without a C++ spelling, packed
// narrow types, vector accesses. A translation unit gets those that it uses, in a fixed order. Not
// thread-safe.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "compiler/codegen/cuda/warpgroup_mma_function.h"
#include "compiler/types/dtype.h"

namespace mlc::codegen {

// The kind of a vector access.
enum class Access : uint8_t { kLoad, kStore, kStoreStreaming };

class DeviceFunctions {
 public:
  // Marks a function of the table as used; returns its name.
  std::string_view Use(std::string_view name);
  // A function (to, from) that moves `count` (2 or 4, 16 bytes at most) values of `type` ("float",
  // "double", "long long", "int" or "unsigned") in one access; its name.
  std::string UseVector(Access access, std::string_view type, int count);
  // A function (sums, a, b) that begins a warpgroup_mma; its name.
  std::string UseWarpgroupMma(const WarpgroupMmaShape& shape);
  // The definitions of the used functions and their dependencies.
  std::string ToText() const;

 private:
  std::set<std::string_view> used_;
  std::map<std::string, std::string> made_;  // name to definition, of those that no table has
};

}  // namespace mlc::codegen
