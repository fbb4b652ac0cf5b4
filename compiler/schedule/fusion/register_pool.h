// Registers of one element each, handed out one after the other. Not thread-safe; borrows the
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
  // How many are handed out, by type and lanes.
  using Used = std::map<std::pair<DType, int>, size_t>;

  explicit RegisterPool(ir::KernelBuilder& builder) : builder_(builder) {}

  ir::BufferId Next(DType dtype, int lanes);
  ir::ExprRef Keep(ir::ExprRef value);  // in the next one

  const Used& used() const { return used_; }
  // Takes back those that were handed out since.
  void ReturnTo(Used used) { used_ = std::move(used); }

 private:
  ir::KernelBuilder& builder_;
  std::map<std::pair<DType, int>, std::vector<ir::BufferId>> registers_;
  Used used_;
};

}  // namespace mlc::schedule
