// A pool of registers of one element each, handed out in order. Not thread-safe; borrows the
// builder.
#pragma once

#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "compiler/ir/build.h"

namespace mlc::schedule {

class RegisterPool {
 public:
  // The number of registers in use, by type and lanes.
  using Used = std::map<std::pair<DType, int>, size_t>;

  explicit RegisterPool(ir::KernelBuilder& builder) : builder_(builder) {}

  ir::BufferId Next(DType dtype, int lanes);
  ir::ExprRef Keep(ir::ExprRef value);  // stores it in the next register

  const Used& used() const { return used_; }
  // Takes back the registers that were handed out since.
  void ReturnTo(Used used) { used_ = std::move(used); }

 private:
  ir::KernelBuilder& builder_;
  std::map<std::pair<DType, int>, std::vector<ir::BufferId>> registers_;
  Used used_;
};

}  // namespace mlc::schedule
