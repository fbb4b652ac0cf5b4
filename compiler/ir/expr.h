// Expressions of the kernel IR: types, and the nodes of values and addresses. ir.h documents their
// meaning and text form. Immutable and shared; thread-compatible.
#pragma once

#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

#include "compiler/types/dtype.h"
#include "compiler/types/scalar_op.h"

namespace mlc::ir {

struct Type {
  DType dtype = DType::kI64;
  int lanes = 1;
  friend bool operator==(const Type&, const Type&) = default;
};

using BufferId = int;  // index into Kernel::buffers
using VarId = int;     // unique in a kernel; bound by exactly one For or Let

struct Expr;
using ExprRef = std::shared_ptr<const Expr>;

struct IntImm {
  int64_t value;
};  // integer types and kBool, scalar
struct FloatImm {
  double value;
};  // float types, scalar
struct VarRef {
  VarId var;
};  // i64 scalar
struct Load {
  BufferId buffer;
  ExprRef index;
  int64_t stride = 1;
  ExprRef mask;  // may be null
};
struct Apply {
  ScalarOp op;
  std::vector<ExprRef> args;
};  // lane-wise; args have equal lanes
struct Cast {
  ExprRef value;
};  // to the node's dtype, same lanes
struct Broadcast {
  ExprRef value;
};  // a scalar to the node's lanes
struct ReduceLanes {
  ScalarOp op;
  ExprRef value;
};  // kAdd, kMax, kMin, kMul: vector to scalar
struct LaneMask {
  ExprRef active;
};                    // kBool vector: lane < active
struct LaneIndex {};  // 0, 1, ... lanes-1, of the node's dtype
// Of a vector, whose lanes are a power of two: every lane gets the value of the one whose number
// differs in the bits of `lane_mask` (1 .. lanes-1). In GPU kernels, of a 32-bit scalar (f32, i32):
// the value of the thread of this warp whose number so differs (1 .. 31); warp-collective.
struct ShuffleXor {
  ExprRef value;
  int lane_mask = 1;
};

struct Expr {
  Type type;
  std::variant<IntImm, FloatImm, VarRef, Load, Apply, Cast, Broadcast, ReduceLanes, LaneMask,
               LaneIndex, ShuffleXor>
      node;
};

}  // namespace mlc::ir
