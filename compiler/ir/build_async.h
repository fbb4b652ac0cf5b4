// Constructors of roles, mbarriers and the copies that arrive at them (async.h), for a kernel that
// a KernelBuilder builds. Not thread-safe; borrows the builder.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "compiler/ir/build.h"

namespace mlc::ir {

class AsyncBuilder {
 public:
  explicit AsyncBuilder(KernelBuilder& kernel) : kernel_(kernel) {}

  BufferId Mbarriers(std::string name, int64_t size);
  void MbarrierInit(BufferId barrier, ExprRef index, int64_t arrivals);
  void MbarrierArrive(BufferId barrier, ExprRef index, int bytes = 0);
  void MbarrierArriveAt(BufferId barrier, ExprRef index, ExprRef rank);  // of another block
  void MbarrierWait(BufferId barrier, ExprRef index, ExprRef parity);
  void CopyBulk(const ir::CopyBulk& copy);
  void CopyTensor(const ir::CopyTensor& copy);
  void MakeTensorMaps();
  void SetRegisters(int count);  // of a role
  // As KernelBuilder::If, with roles.
  void RolesIf(ExprRef condition, const std::function<void()>& then_body,
               const std::function<void()>& else_body);

 private:
  KernelBuilder& kernel_;
};

}  // namespace mlc::ir
