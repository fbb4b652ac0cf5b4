// Kernel IR: the one small loop-level language that every family lowers to, every code generator
// prints and the interpreter runs. Nodes are immutable and shared; a kernel is a value.
// Thread-compatible.
//
//   kernel   := "kernel" name "{" buffer* phase* "}"
//   buffer   := scope name ":" dtype ["x" lanes] "[" size "]"   scope: in out shared thread reg
//   phase    := a parallel loop 0 .. constant; phases run in order, with a barrier between
//   block    := "{" stmt* "}"
//   stmt     := for | if | let | store | prefetch
//   for      := ["parallel" | "unrolled"] "for" var "in" expr " .. " expr ["step" int] block
//   if       := "if" expr block ["else" block]
//   let      := "let" var "=" expr                an index, visible to the end of the block
//   store    := name "[" expr ["," "stride" "=" int] ["," "mask" "=" expr] "]" "=" expr
//               ["streaming"]
//   prefetch := "prefetch" name "[" expr "," "level" "=" int "]"
//   load     := name "[" expr ["," "lanes" "=" int] ["," "stride" "=" int]
//               ["," "mask" "=" expr] "]"
//   expr     := int | dtype "(" number ")" | var | load | op "(" expr,* ")"
//             | "cast" "(" dtype "," expr ")" | "broadcast" "(" expr "," lanes ")"
//             | "reduce_" op "(" expr ")" | "lane_mask" "(" expr "," lanes ")"
//             | "lane_index" "(" dtype "," lanes ")"
// A bare int is an i64; other constants carry their type, as in f32(0.5).
//
// Indices are i64 scalars, in elements of the buffer. A load or store of a vector type touches
// `lanes` elements, `stride` apart; with a mask (an i64 scalar: the number of active lanes) the
// other lanes are not touched and read as zero. A register buffer holds `size` registers of `lanes`
// lanes each; its indices become constants once unrolled loops are expanded, and it is private to
// the thread. A thread buffer is private memory; its contents do not survive an iteration of the
// parallel loop.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "compiler/base/dtype.h"
#include "compiler/base/scalar_op.h"
#include "compiler/base/status.h"

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

struct Expr {
  Type type;
  std::variant<IntImm, FloatImm, VarRef, Load, Apply, Cast, Broadcast, ReduceLanes, LaneMask,
               LaneIndex>
      node;
};

struct Stmt;
using StmtRef = std::shared_ptr<const Stmt>;

enum class LoopKind : uint8_t { kSerial, kParallel, kUnrolled };

struct Block {
  std::vector<StmtRef> body;
};
struct For {
  VarId var;
  ExprRef begin;
  ExprRef end;
  int64_t step = 1;
  LoopKind kind = LoopKind::kSerial;
  StmtRef body;
};
struct If {
  ExprRef condition;
  StmtRef then_body;
  StmtRef else_body;
};  // condition: kBool scalar; else may be null
struct Let {
  VarId var;
  ExprRef value;
};
struct Store {
  BufferId buffer;
  ExprRef index;
  ExprRef value;
  int64_t stride = 1;
  ExprRef mask;            // may be null
  bool streaming = false;  // a hint: bypass the caches (the address is aligned to the vector)
};
struct Prefetch {
  BufferId buffer;
  ExprRef index;
  int level = 1;
};  // 1: L1, 2: L2

struct Stmt {
  std::variant<Block, For, If, Let, Store, Prefetch> node;
};

enum class Scope : uint8_t { kIn, kOut, kShared, kThread, kRegister };

struct Buffer {
  std::string name;
  DType dtype = DType::kF32;
  int lanes = 1;     // above 1 only in kRegister
  int64_t size = 0;  // elements (registers for kRegister)
  Scope scope = Scope::kIn;
};

struct Kernel {
  std::string name;  // [a-z_][a-z0-9_]*, never from a model
  // Parameters (kIn and kOut) come first, in the order of the caller's binding.
  std::vector<Buffer> buffers;
  std::vector<std::string> vars;  // printed names, unique; indexed by VarId
  std::vector<StmtRef> phases;    // each a For of kind kParallel

  int NumParams() const;
  std::string ToText() const;
  static Result<Kernel> Parse(std::string_view text);
  // Types, scopes, variables bound before use, constant register indices, phases parallel; names
  // the first offender. Run on everything parsed and, in tests, on everything lowered.
  Status Verify() const;
};

std::string_view ToText(Scope scope);

}  // namespace mlc::ir
