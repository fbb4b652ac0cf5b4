// Prints one phase of a kernel as one __global__ function. Expressions become text; what must be
// computed before the text can stand (vector loads, reductions over lanes, values used twice) is
// printed as statements first. Vectors are evaluated lane by lane, in an unrolled loop over `L` or,
// where that is short, in a statement for each lane. Names that the printer makes up have capital
// letters, names of the kernel have none. Not thread-safe; borrows its arguments.
#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/status.h"
#include "compiler/codegen/cuda/cuda.h"
#include "compiler/codegen/cuda/cxx_text.h"
#include "compiler/codegen/cuda/device_functions.h"
#include "compiler/codegen/cuda/index_facts.h"
#include "compiler/codegen/cuda/shared_memory.h"

namespace mlc::codegen {

struct GlobalLayout {
  MemoryLayout scratch;
  MemoryLayout counters;
};

class PhasePrinter {
 public:
  PhasePrinter(const ir::Kernel& kernel, const target::Target& target, const GlobalLayout& global,
               DeviceFunctions& functions);

  // Appends the function to `text`. The phase is one of the kernel's.
  Result<CudaLaunch> Print(const ir::For& phase, const std::string& function, std::string* text);

 private:
  // How `lanes` elements lie in a local array: narrow types are packed into 32-bit words if they
  // fill them.
  struct Rep {
    std::string_view type;  // of the array
    int count = 1;          // array elements in all
    bool words = false;
  };
  // A vector access to memory, cut into pieces.
  struct Pieces {
    std::string name;  // of the buffer
    DType dtype = DType::kF32;
    Access access = Access::kLoad;
    Text index;
    int lanes = 1;        // of the whole vector
    int piece_lanes = 1;  // 1: element by element
    int64_t stride = 1;
    Text mask;  // empty: all lanes
    bool mask_cuts_pieces = false;
    bool packed() const { return piece_lanes > 1; }
  };

  // ---- phase_printer.cc
  std::string Head(const ir::For& threads, const std::string& function);
  void DeclareBuffers(const MemoryLayout& block);
  const ir::Buffer& BufferOf(ir::BufferId id) const {
    return kernel_.buffers[static_cast<size_t>(id)];
  }
  const std::string& NameOf(ir::BufferId id) const { return buffers_[static_cast<size_t>(id)]; }
  const std::string& VarName(ir::VarId id) const { return vars_[static_cast<size_t>(id)]; }
  std::string_view IndexType(const IndexFacts& facts) const {
    return facts.FitsInt() ? "int" : "long long";
  }
  void Line(std::string_view text);
  void Open(std::string text);  // the line and "{"
  void Close();
  // A constant of this type and value, under a new name.
  Text Temporary(std::string_view type, const Text& value);
  std::string NewArray(std::string_view type, int count, bool zeros);

  // ---- statements.cc
  void Print(const ir::Stmt& stmt);
  void Do(const ir::Block& block);
  void Do(const ir::For& loop);
  void Do(const ir::If& branch);
  void Do(const ir::Let& let);
  void Do(const ir::Store& store);
  void Do(const ir::Prefetch& prefetch);
  void Do(const ir::RegisterTranspose&) {}  // no kernel of threads has one
  void Do(const ir::Sync& sync);
  void Do(const ir::CopyAsync& copy);
  void Do(const ir::LoadMatrix& load);
  void Do(const ir::LoadPeer& load);
  void Do(const ir::Mma& mma);
  void Do(const ir::WarpgroupMma& mma);
  void Do(const ir::Arrive& arrive);
  void WaitProducts(int pending);
  // Forgets what the previous statement computed and counts uses in this one.
  void Begin(std::initializer_list<ir::ExprRef> expressions);
  void CountUses(const ir::ExprRef& e);
  void StoreRegister(const ir::Store& store);
  void StoreScalar(const ir::Store& store);

  // ---- expressions.cc
  Text Scalar(const ir::ExprRef& e);
  Text ScalarNode(const ir::Expr& e);
  Text ScalarLoad(const ir::Load& load);
  Text ScalarApply(const ir::Expr& e, const ir::Apply& apply);
  Text Reduce(const ir::ReduceLanes& reduce);
  std::string_view TypeOf(const ir::ExprRef& e);  // of a scalar, as printed
  bool Fits(const ir::Expr& e) { return analysis_.Of(e).FitsInt(); }
  // "buffer[index]", or a cached read of an input.
  Text Element(ir::BufferId buffer, const Text& index) const;
  Text FromStorage(DType dtype, const Text& raw);
  Text ToStorage(DType dtype, const Text& value);
  // What lies in memory for this scalar; no detour through the rounded value.
  Text StorageOf(const ir::ExprRef& e);
  Text Place(ir::BufferId buffer, const ir::ExprRef& index);  // "&buffer[index]"
  // "&registers[...]" of register `index`, from array element `offset` of it on.
  Text RegisterPlace(ir::BufferId buffer, const ir::ExprRef& index, int offset = 0);
  Text RegisterBase(const ir::Buffer& buffer, const ir::ExprRef& index);

  // ---- scalar_operators.cc
  Text Operator(ScalarOp op, DType dtype, const std::vector<Text>& args);
  Text FloatOperator(ScalarOp op, DType dtype, const std::vector<Text>& args);
  Text IntOperator(ScalarOp op, DType dtype, const std::vector<Text>& args);
  Text IndexOperator(const ir::Expr& e, const ir::Apply& apply);
  Text IndexDivision(const ir::Apply& apply, const Text& a, const Text& b, bool narrow);
  Text Converted(DType from, DType to, const Text& value);
  Text Rounded(DType dtype, const Text& value);

  // ---- lanes.cc
  static Rep RepOf(DType dtype, int lanes);
  // Prints what the lanes of `e` need; afterwards Lane gives lane L of it inside a LaneLoop.
  void PrepareLanes(const ir::ExprRef& e);
  Text Broadcasted(const ir::ExprRef& value);
  Text Lane(const ir::ExprRef& e);
  void LaneLoop(int begin, int end, const std::function<std::string()>& statement);
  // New arrays of all lanes: as they are computed with, and as they lie in memory.
  std::string Values(const ir::ExprRef& e);
  std::string StorageArray(const ir::ExprRef& e);
  void PackWords(const ir::ExprRef& e, const std::string& array, const Text& first);
  Text LaneOf(const std::string& array, const Text& first, const Rep& rep, DType dtype);

  // ---- vector_memory.cc
  Pieces CutPieces(ir::BufferId buffer, const ir::ExprRef& index, int lanes, int64_t stride,
                   const ir::ExprRef& mask, Access access);
  void LoadVector(const ir::ExprRef& e, const ir::Load& load);
  void StoreVector(const ir::Store& store);
  void MovePieces(const Pieces& pieces, const std::string& array, const Rep& rep);
  void MoveElements(const Pieces& pieces, const std::string& array, const Rep& rep, bool masked);
  std::string PieceText(const Pieces& pieces, const std::string& array, const Rep& rep, int piece);

  const ir::Kernel& kernel_;
  const target::Target& target_;
  const GlobalLayout& global_;
  DeviceFunctions& functions_;
  IndexAnalysis analysis_;
  std::vector<std::string> buffers_;  // C++ names
  std::vector<std::string> vars_;
  std::vector<BufferUse> uses_of_;  // per buffer, in this phase
  // The phase waits for earlier launches. The compiler knows that inputs do not change, but not
  // since when: behind the wait they are read through renewed pointers, by explicit instructions.
  bool awaits_ = false;

  std::set<ir::BufferId> product_registers_;  // of the warpgroup_mmas so far

  std::string lines_;
  int depth_ = 1;
  int temporaries_ = 0;

  // Of the statement at hand.
  std::unordered_map<const ir::Expr*, int> uses_;
  std::unordered_map<const ir::Expr*, Text> ready_;       // scalars
  std::unordered_map<const ir::Expr*, Text> lane_ready_;  // lane L, valid in all its loops
  std::unordered_map<const ir::Expr*, Text> loop_ready_;  // lane L, valid in this loop
  std::unordered_map<const ir::Expr*, std::string> raw_;  // arrays that hold a loaded vector
};

}  // namespace mlc::codegen
