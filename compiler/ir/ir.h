// Kernel IR: the loop-level language that every family lowers to, every code generator prints, and
// the interpreter runs. Nodes are immutable and shared; a kernel is a value. Thread-compatible.
//
//   kernel   := "kernel" name ["approximate"] ["limit" var] "{" buffer* phase* "}"
//   buffer   := scope name ":" dtype ["x" lanes] "[" size "]" ["overlays" name]
//               scope: in out shared counter block mbarrier thread reg
//   phase    := a parallel loop 0 .. constant; phases run in order, with a barrier between
//   block    := "{" stmt* "}"
//   stmt     := for | if | let | store | prefetch, on CPUs also turn_square, and on GPUs also
//               sync | copy_async | load_matrix | load_peer | unpack | mma | warpgroup_mma | arrive
//               | mbarrier_init | mbarrier_arrive | mbarrier_wait | copy_bulk | copy_tensor; those
//               with a keyword are rules of statement_forms.h (docs/reference/text-forms.md)
//   for      := ["parallel" | "unrolled" | "threads"] "for" var "in" expr " .. " expr
//               ["step" int] ["per_sm" int] ["cluster" int] block
//   if       := ["roles"] "if" expr block ["else" block]
//   let      := "let" var "=" expr                an index, visible to the end of the block
//   store    := name "[" expr ["," "stride" "=" int] ["," "mask" "=" expr] "]" "=" expr
//               ["streaming"]
//   load     := name "[" expr ["," "lanes" "=" int] ["," "stride" "=" int]
//               ["," "mask" "=" expr] "]"
//   expr     := int | dtype "(" number ")" | var | load | op "(" expr,* ")"
//             | "cast" "(" dtype "," expr ")" | "broadcast" "(" expr "," lanes ")"
//             | "reduce_" op "(" expr ")" | "lane_mask" "(" expr "," lanes ")"
//             | "lane_index" "(" dtype "," lanes ")" | "shuffle_xor" "(" expr "," int ")"
// A bare int is an i64; other constants carry their type, as in f32(0.5).
//
// Indices are i64 scalars, in elements of the buffer. A load or store of a vector type touches
// `lanes` elements, `stride` apart; with a mask (an i64 scalar: the number of active lanes) the
// other lanes are not touched and read as zero. A register buffer holds `size` registers of `lanes`
// lanes each; its indices become constants once unrolled loops are expanded, and it is private to
// the thread. A thread buffer is private memory; its contents do not survive an iteration of the
// parallel loop.
//
// GPU kernels. A phase is one launch: its parallel loop counts the blocks of the grid, and its body
// is one `threads` loop from 0 to a constant multiple of 32: the threads of a block, with the
// number of blocks that a multiprocessor should hold at once as a hint (`per_sm`). Statements
// inside run on every thread. Collective statements (barrier, arrive: the block; warpgroup_mma,
// wait_products: a warpgroup of 128 threads with consecutive numbers; warp_barrier, load_matrix,
// mma, shuffle_xor: a warp of 32) must be reached by all threads of the block, warpgroup or warp. A
// kernel has threads loops in all phases or in none.
//
// Clusters. With `cluster` c, blocks c*i .. c*i + c-1 run at the same time, and each may read the
// shared memory of the others (load_peer) or copy tiles to it (async.h); a block's rank is its
// number modulo c. A cluster_barrier stands in the threads loop itself, not in a loop or branch
// inside, and is one of threads too: all blocks see after it what each did before it.
//
// Roles. A "roles if" of the threads loop itself sends whole warps into its branches. There, each
// warpgroup, and each warp of a warpgroup that is not whole there, goes its own way, and they wait
// for each other at mbarriers alone (async.h): barriers of the block lie before and after.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/status.h"
#include "compiler/ir/async.h"
#include "compiler/ir/expr.h"
#include "compiler/ir/scope.h"
#include "compiler/ir/sync.h"
#include "compiler/ir/unpack.h"
#include "compiler/types/dtype.h"

namespace mlc::ir {

struct Stmt;
using StmtRef = std::shared_ptr<const Stmt>;

enum class LoopKind : uint8_t { kSerial, kParallel, kUnrolled, kThreads };

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
  int per_sm = 0;   // kThreads: blocks that a multiprocessor should hold at once; 0: no wish
  int cluster = 1;  // kThreads: blocks of a cluster, which divide the grid
};
struct If {
  ExprRef condition;
  StmtRef then_body;
  StmtRef else_body;
  bool roles = false;
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

// Transposes a square of registers: the buffer has 2^n > 1 lanes, and lane j of register index + i
// becomes lane i of register index + j, for all i and j below the number of lanes. Not on GPUs.
struct RegisterTranspose {
  BufferId registers;
  ExprRef index;
};

// Copies `lanes` consecutive elements (4, 8 or 16 bytes in all, both ends aligned to that) from a
// global buffer to a block buffer, in the background: the data may be read after a kWaitCopies that
// covers it and, by other threads, a barrier. With a mask, only that many elements are read; the
// others become zero.
struct CopyAsync {
  BufferId to;
  ExprRef to_index;
  BufferId from;
  ExprRef from_index;
  int lanes = 1;
  ExprRef mask;  // may be null
};
// Loads 1, 2 or 4 matrices of 8 rows of 16 bytes from a block buffer into a register (PTX
// ldmatrix). Thread 8*m+r of the warp gives in `from_index` the first element of row r of matrix m,
// aligned to 16 bytes. Of each matrix thread t receives 4 bytes of row t/4: elements 2*(t%4) and
// 2*(t%4)+1 (of column t/4 when transposed) of 2-byte types as lanes 2*m and 2*m+1, t%4 of f32 as
// lane m, 4*(t%4) and the next 3 of u8 and i8 from lane 4*m on.
struct LoadMatrix {
  BufferId to;
  ExprRef to_index;
  BufferId from;
  ExprRef from_index;
  bool transposed = false;
};
// Loads a register of f32 lanes from consecutive elements of a block buffer, as they lie in the
// memory of the block of rank `rank` in this block's cluster, which may be itself. A
// cluster_barrier must come before, so that the other has begun, and after, so that it stays.
struct LoadPeer {
  BufferId to;
  ExprRef to_index;
  BufferId from;
  ExprRef from_index;
  ExprRef rank;
};
// c += a * b on a warp's matrix unit (PTX mma.sync, row times column), with the fragments of the
// PTX ISA: f16 and bf16 m16n8k16 (a: 8 lanes, b: 4), f32 as tf32 m16n8k8 (a: 4 lanes, b: 2; the
// unit ignores the low 13 bits), u8 times i8 m16n8k32 (a: 16 lanes, b: 8). c: 4 lanes of f32, of
// bytes i32, which wraps. b may be a part of a wider register: lanes part*n .. part*n + n-1.
struct Mma {
  BufferId c;
  ExprRef c_index;
  BufferId a;
  ExprRef a_index;
  BufferId b;
  ExprRef b_index;
  int part = 0;
};
// Begins c += a * b, or c = a * b, for 64 rows of a and `columns` (8 to 256 by 8) rows of b, along
// 128 bytes of k (64 elements of f16 or bf16, 128 of float8 of both types or of u8 and i8, 32 of
// f32 as tf32: the unit ignores the low 13 bits), both in shared memory, on the matrix units of a
// warpgroup of 128 threads (PTX wgmma). From an index aligned to 1024 bytes on, each row takes 128
// bytes; the 16-byte piece p of row r lies where piece p ^ (r % 8) would. Every thread that wrote
// them has fenced them, and has written no shared memory since. c: 4 lanes of f32, of bytes i32;
// register c_index + j holds columns 8 * j to 8 * j + 7. Of registers, warp w holds rows 16 * w to
// 16 * w + 15, as mma does. An a of more than a byte may be in registers: a_index + i holds k 8 * i
// to 8 * i + 7, 4 lanes; of f32 a fragment of mma, of f16 and bf16 as c lies. A b of f16 or bf16
// may lie across k: 64 rows are the steps of k, in blocks of 64 columns, `across` elements from one
// block to the next. A kWaitProducts that covers it ends the product: before, a and b may not be
// written, nor c touched but by another product. Devices of arch sm_90a only; they cut sums of
// float8 to 14 bits.
struct WarpgroupMma {
  BufferId c;
  ExprRef c_index;
  BufferId a;
  ExprRef a_index;
  BufferId b;
  ExprRef b_index;
  int columns = 64;
  bool adds = true;  // adds to c; otherwise the value of c is ignored
  int across = 0;    // 0: b lies along k
};
// Block-collective. Counts one arrival at a counter; `var` is 1 in the block that is the last of
// `of` to arrive, which then sees all that the others wrote to global memory before they arrived,
// and 0 in the others. The last arrival returns the counter to zero.
struct Arrive {
  VarId var;
  BufferId counter;
  ExprRef index;
  int64_t of = 1;
};

struct Stmt {
  std::variant<Block, For, If, Let, Store, Prefetch, RegisterTranspose, Sync, CopyAsync, LoadMatrix,
               LoadPeer, Unpack, Mma, WarpgroupMma, Arrive, MbarrierInit, MbarrierArrive,
               MbarrierWait, CopyBulk, CopyTensor>
      node;
};

// A limit that limits nothing.
inline constexpr int64_t kNoLimit = int64_t{1} << 40;

inline constexpr int kMaxCluster = 8;  // blocks; what every device with clusters runs

struct Buffer {
  std::string name;
  DType dtype = DType::kF32;
  int lanes = 1;     // above 1 only in kRegister
  int64_t size = 0;  // elements (registers for kRegister)
  Scope scope = Scope::kIn;
  // kSharedMemory: an earlier buffer in shared memory that overlays nothing and whose memory this
  // one shares (writing one leaves nothing in the other); -1 for memory of its own.
  BufferId overlays = -1;
};

struct Kernel {
  std::string name;  // [a-z_][a-z0-9_]*, never from a model
  // Parameters (kIn and kOut) come first, in the order of the caller's binding.
  std::vector<Buffer> buffers;
  std::vector<std::string> vars;  // printed names, unique; indexed by VarId
  std::vector<StmtRef> phases;    // each a For of kind kParallel
  // Special functions may err by 2^-10 of their result (results are narrow floats anyway). Printed
  // as "approximate" after the name.
  bool approximate = false;
  // A variable that the caller gives at each call: how many rows of the results it needs
  // (stored_rows.h). -1: there is none.
  VarId limit = -1;

  int NumParams() const;
  bool IsGpu() const;  // its phases have threads loops
  std::string ToText() const;
  static Result<Kernel> Parse(std::string_view text);
  // Types, scopes, variables bound before use, constant register indices, phases parallel; names
  // the first offender. Run on everything parsed and, in tests, on everything lowered.
  Status Verify() const;
};

std::string_view ToText(Scope scope);
std::string_view ToText(SyncKind kind);

}  // namespace mlc::ir
