// The interpreter's state while one kernel runs: variables, memories, the current iteration and the
// first failure. Expressions return a value even after a failure; statements stop. Not thread-safe;
// borrows the kernel and the parameters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/ir/interpret/lane.h"
#include "compiler/ir/interpret/memory.h"
#include "compiler/ir/ir.h"

namespace mlc::ir {

class Machine {
 public:
  // REQUIRES: the kernel verifies and the parameters are large enough.
  Machine(const Kernel& kernel, std::span<const std::span<std::byte>> params, int64_t limit);

  Status Run();

 private:
  // statements (machine.cc)
  void RunPhase(const For& loop);
  void Execute(const Stmt& stmt);
  void Do(const Block& block);
  void Do(const For& loop);
  void Do(const If& branch);
  void Do(const Let& let);
  void Do(const Store& store);
  void Do(const Prefetch& prefetch);
  void Do(const RegisterTranspose& transpose);
  // REQUIRES: not reached; the verifier keeps GPU statements out of CPU kernels.
  template <typename GpuStmt>
  void Do(const GpuStmt&) {
    Fail(StatusCode::kInternal, "has a GPU statement");
  }

  // expressions (machine_expr.cc); Vector writes one Lane for each lane of the type
  Lane Scalar(const Expr& e);
  int64_t Index(const ExprRef& e) { return Scalar(*e).i; }
  void Vector(const Expr& e, Lane* out);
  void VectorNode(const Type& type, const Load& load, Lane* out);
  void VectorNode(const Type& type, const Apply& apply, Lane* out);
  Lane ScalarNode(const Load& load);
  Lane ScalarNode(const Apply& apply);
  Lane ScalarNode(const ReduceLanes& reduce);
  Lane ScalarNode(const ShuffleXor& shuffle);

  // Wraps like all index arithmetic; the bounds check sees the result.
  static int64_t LaneAddress(int64_t index, int lane, int64_t stride) {
    return static_cast<int64_t>(static_cast<uint64_t>(index) +
                                static_cast<uint64_t>(lane) * static_cast<uint64_t>(stride));
  }
  // The number of lanes that a mask leaves active.
  int ActiveLanes(const ExprRef& mask, int lanes);
  void Fail(StatusCode code, const std::string& what);
  void FailAccess(Fault fault, const char* what, const Buffer& buffer, int64_t index);

  const Kernel& kernel_;
  std::vector<Memory> memories_;
  std::vector<int64_t> vars_;
  const For* phase_ = nullptr;
  uint32_t base_ = 0;  // iterations are numbered over all phases; see memory.h
  uint32_t now_ = 0;
  bool failed_ = false;
  Status error_;
};

}  // namespace mlc::ir
