// The construction of kernel IR: functions that fold constants and check types, and a builder that
// keeps the block structure. Not thread-safe; one builder makes one kernel.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "compiler/ir/ir.h"

namespace mlc::ir {

// Index arithmetic, folded: x+0, x*1, x*0, constants, and (x + c1) + c2 become the short form.
ExprRef Int(int64_t value);
ExprRef operator+(const ExprRef& a, const ExprRef& b);
ExprRef operator-(const ExprRef& a, const ExprRef& b);
ExprRef operator*(const ExprRef& a, const ExprRef& b);
ExprRef operator+(const ExprRef& a, int64_t b);
ExprRef operator-(const ExprRef& a, int64_t b);
ExprRef operator*(const ExprRef& a, int64_t b);
ExprRef FloorDiv(const ExprRef& a, int64_t b);
ExprRef Mod(const ExprRef& a, int64_t b);
ExprRef Min(const ExprRef& a, const ExprRef& b);
ExprRef Max(const ExprRef& a, const ExprRef& b);
// The value of a constant integer expression.
bool IsConstInt(const ExprRef& e, int64_t* value);

ExprRef Float(DType dtype, double value, int lanes = 1);  // broadcast when lanes > 1
ExprRef MakeApply(ScalarOp op,
                  std::vector<ExprRef> args);  // result type from the table and the args
ExprRef MakeCast(DType dtype, ExprRef value);
ExprRef MakeBroadcast(ExprRef value, int lanes);  // the value itself for lanes == 1
ExprRef MakeReduce(ScalarOp op, ExprRef value);
ExprRef MakeLaneMask(ExprRef active, int lanes);
ExprRef MakeLaneIndex(DType dtype, int lanes);
ExprRef MakeShuffleXor(ExprRef value, int lane_mask);

class KernelBuilder {
 public:
  explicit KernelBuilder(std::string name);

  // Parameters first, then scratch and registers, in any order among themselves.
  BufferId In(std::string name, DType dtype, int64_t size);
  BufferId Out(std::string name, DType dtype, int64_t size);
  BufferId Workspace(std::string name, DType dtype, int64_t size);
  BufferId Thread(std::string name, DType dtype, int64_t size);
  BufferId Registers(std::string name, DType dtype, int lanes, int64_t count);
  BufferId Counter(std::string name, int64_t size);
  BufferId SharedMemory(std::string name, DType dtype, int64_t size, BufferId overlays = -1);

  // A loop calls `body` once, with the loop variable. A serial or unrolled loop of one iteration
  // becomes its body; a loop of none is omitted.
  using Body = std::function<void(ExprRef)>;
  void Parallel(std::string var, int64_t extent, const Body& body);  // top level: one phase
  // One launch: `body` gets the block's and the thread's number.
  void Launch(int64_t blocks, int threads, int per_sm,
              const std::function<void(ExprRef block, ExprRef thread)>& body, int cluster = 1);
  void For(std::string var, ExprRef begin, ExprRef end, int64_t step, const Body& body);
  void For(std::string var, int64_t extent, const Body& body);
  void Unrolled(std::string var, int64_t extent, const Body& body);
  void If(ExprRef condition, const std::function<void()>& then_body,
          const std::function<void()>& else_body = {});
  ExprRef Let(std::string name, ExprRef value);  // a constant or a variable is returned as it is

  ExprRef Load(BufferId buffer, ExprRef index, int lanes = 1, int64_t stride = 1,
               ExprRef mask = {});
  void Store(BufferId buffer, ExprRef index, ExprRef value, int64_t stride = 1, ExprRef mask = {},
             bool streaming = false);
  // Registers: lanes come from the buffer.
  ExprRef Get(BufferId registers, ExprRef index);
  void Set(BufferId registers, ExprRef index, ExprRef value);
  void Prefetch(BufferId buffer, ExprRef index, int level);
  void TransposeRegisters(BufferId registers, ExprRef index);

  // GPU kernels; see ir.h.
  void Barrier();
  void WarpBarrier();
  void CommitCopies();
  void WaitCopies(int pending);
  void AwaitInputs();
  void ReleaseDependents();
  void ClusterBarrier();
  void CopyAsync(BufferId to, ExprRef to_index, BufferId from, ExprRef from_index, int lanes,
                 ExprRef mask = {});
  void LoadMatrix(BufferId to, ExprRef to_index, BufferId from, ExprRef from_index,
                  bool transposed = false);
  void LoadPeer(BufferId to, ExprRef to_index, BufferId from, ExprRef from_index, ExprRef rank);
  void Unpack(ir::Unpack unpack);
  void Mma(BufferId c, ExprRef c_index, BufferId a, ExprRef a_index, BufferId b, ExprRef b_index,
           int part = 0);
  void FenceTiles();
  void WaitProducts(int pending);
  void WarpgroupMma(BufferId c, ExprRef c_index, BufferId a, ExprRef a_index, BufferId b,
                    ExprRef b_index, int columns, bool adds = true, int across = 0);
  ExprRef Arrive(std::string var, BufferId counter, ExprRef index, int64_t of);
  void Approximate();  // sets Kernel::approximate

  Kernel Finish();

 private:
  friend class AsyncBuilder;  // build_async.h

  // The name itself, or with a number appended when it is taken.
  std::string Unique(std::string name);
  BufferId AddBuffer(Buffer buffer);
  VarId NewVar(std::string name);
  static ExprRef VarExpr(VarId var);
  void Loop(std::string var, ExprRef begin, ExprRef end, int64_t step, LoopKind kind,
            const Body& body);
  void Append(StmtRef stmt);
  StmtRef Collect(const std::function<void()>& body);

  Kernel kernel_;
  std::vector<std::vector<StmtRef>> open_;  // innermost block last
  std::set<std::string> names_;             // of buffers and variables
  std::map<std::string, int> suffixes_;     // last suffix of each repeated name
};

}  // namespace mlc::ir
