#include "tests/fuzz/ir/random_kernel.h"

#include <array>
#include <bit>
#include <cmath>
#include <string>
#include <utility>

#include "compiler/ir/types.h"

namespace mlc::ir {

namespace {

constexpr std::array kTypes = {DType::kF32, DType::kF64, DType::kF16, DType::kBF16, DType::kI8,
                               DType::kU8,  DType::kI16, DType::kI32, DType::kI64,  DType::kBool};
constexpr std::array kLanes = {1, 1, 2, 4, 8, 16, 64};
constexpr std::array kReductions = {ScalarOp::kAdd, ScalarOp::kMul, ScalarOp::kMax, ScalarOp::kMin};

std::string Numbered(char letter, size_t number) {
  std::string name(1, letter);
  return name.append(std::to_string(number));
}

class Generator {
 public:
  explicit Generator(Rng& rng) : rng_(rng) {}

  Kernel Run() {
    kernel_.name = "random_kernel";
    for (const Scope scope :
         {Scope::kIn, Scope::kOut, Scope::kWorkspace, Scope::kThread, Scope::kRegister}) {
      const int count = 1 + Pick(3);
      for (int i = 0; i < count; ++i) AddBuffer(scope);
    }
    const int phases = Pick(4);
    gpu_ = phases > 0 && Pick(2) == 0;
    kernel_.approximate = Pick(4) == 0;
    if (gpu_) AddGpuBuffers();
    for (int i = 0; i < phases; ++i) {
      if (gpu_) {
        kernel_.phases.push_back(Launch());
        continue;
      }
      kernel_.phases.push_back(Loop(LoopKind::kParallel, Imm(0), Imm(Pick(100)), 1, 0));
    }
    return std::move(kernel_);
  }

 private:
  struct Bound {
    VarId var;
    bool is_static;
  };

  int Pick(int bound) { return static_cast<int>(rng_.Below(static_cast<uint64_t>(bound))); }
  template <typename Array>
  auto OneOf(const Array& values) {
    return values[static_cast<size_t>(Pick(static_cast<int>(values.size())))];
  }
  template <typename Node>
  static ExprRef Make(Type type, Node node) {
    return std::make_shared<const Expr>(Expr{type, std::move(node)});
  }
  template <typename Node>
  static StmtRef MakeStmt(Node node) {
    return std::make_shared<const Stmt>(Stmt{std::move(node)});
  }
  static ExprRef Imm(int64_t value) { return Make({DType::kI64, 1}, IntImm{value}); }

  void AddBuffer(Scope scope) {
    const int lanes = scope == Scope::kRegister ? OneOf(kLanes) : 1;
    kernel_.buffers.push_back(
        {Numbered('b', kernel_.buffers.size()), OneOf(kTypes), lanes, Pick(1000), scope});
  }

  void AddGpuBuffers() {
    const auto add = [&](DType dtype, int lanes, Scope scope) {
      const auto id = static_cast<BufferId>(kernel_.buffers.size());
      kernel_.buffers.push_back(
          {Numbered('b', kernel_.buffers.size()), dtype, lanes, 1 + Pick(100), scope});
      return id;
    };
    counter_ = add(DType::kI32, 1, Scope::kCounter);
    const DType narrow = Pick(2) == 0 ? DType::kF16 : DType::kBF16;
    block_ = add(narrow, 1, Scope::kSharedMemory);
    kernel_.buffers[static_cast<size_t>(add(OneOf(kTypes), 1, Scope::kSharedMemory))].overlays =
        Pick(2) == 0 ? block_ : -1;
    words_ = add(DType::kF32, 1, Scope::kSharedMemory);
    global_ = add(narrow, 1, Scope::kWorkspace);
    wide_ = add(narrow, 8, Scope::kRegister);
    part_ = add(narrow, Pick(2) == 0 ? 4 : 8, Scope::kRegister);
    sum_ = add(DType::kF32, 4, Scope::kRegister);
    pair_ = add(DType::kF32, Pick(2) == 0 ? 2 : 4, Scope::kRegister);
    codes_ = add(DType::kI32, 2 << Pick(2), Scope::kRegister);
    halves_ = add(narrow, 2, Scope::kRegister);
    barriers_ = add(DType::kI64, 1, Scope::kMbarrier);
  }

  // A phase of a GPU kernel.
  StmtRef Launch() {
    const VarId block = Bind(false);
    const VarId thread = Bind(false);
    awaits_ = false;
    cluster_ = OneOf(std::array{1, 1, 2, 3, kMaxCluster});
    threads_ = 32 * (1 + Pick(4));
    For threads{thread,         Imm(0),  Imm(threads_), 1, LoopKind::kThreads,
                RandomBlock(1), Pick(4), cluster_};
    bound_.clear();
    Block body{{MakeStmt(std::move(threads))}};
    return MakeStmt(For{block, Imm(0), Imm(cluster_ * Pick(20)), 1, LoopKind::kParallel,
                        MakeStmt(std::move(body)), 0});
  }

  StmtRef RandomSync() {
    Sync sync{static_cast<SyncKind>(Pick(8)), 0};
    if (Pick(10) == 0) sync.kind = SyncKind::kMakeTensorMaps;
    if (sync.kind == SyncKind::kAwaitInputs && awaits_) sync.kind = SyncKind::kBarrier;
    awaits_ |= sync.kind == SyncKind::kAwaitInputs;
    const bool counts = sync.kind == SyncKind::kWaitCopies || sync.kind == SyncKind::kWaitProducts;
    if (counts) sync.pending = Pick(4);
    return MakeStmt(sync);
  }

  StmtRef RandomUnpack() {
    const int bits = 4 << Pick(2);
    const int parts = kernel_.buffers[static_cast<size_t>(codes_)].lanes / (bits / 4);
    const DType dtype = kernel_.buffers[static_cast<size_t>(wide_)].dtype;
    ExprRef to = Index(1, true), codes = Index(1, true), zeros = Index(1, true);
    return MakeStmt(Unpack{wide_, to, codes_, codes, halves_, zeros, halves_, Index(1, true), bits,
                           Pick(parts), Pick(2) * BiasOfCodes(dtype, bits)});
  }

  StmtRef RandomGpuStmt(int depth) {
    if (cluster_ > 1 && depth == 1 && Pick(3) == 0)
      return MakeStmt(Sync{SyncKind::kClusterBarrier});
    if (cluster_ > 1 && Pick(5) == 0) {
      ExprRef at = Index(1, true), from = Index(2, false), rank = Index(1, false);
      return MakeStmt(LoadPeer{Pick(2) == 0 ? sum_ : pair_, at, words_, from, rank});
    }
    if (Pick(4) == 0) return RandomAsyncStmt();
    if (Pick(6) == 0) return RandomUnpack();
    switch (Pick(5)) {
      case 0:
        return RandomSync();
      case 1:
        return MakeStmt(CopyAsync{block_, Index(2, false), global_, Index(2, false), 2 << Pick(3),
                                  Pick(2) == 0 ? Index(1, false) : nullptr});
      case 2:
        if (Pick(3) == 0) {
          return MakeStmt(LoadMatrix{Pick(2) == 0 ? sum_ : pair_, Index(2, true), words_,
                                     Index(2, false), false});
        }
        return MakeStmt(LoadMatrix{Pick(2) == 0 ? wide_ : part_, Index(2, true), block_,
                                   Index(2, false), Pick(2) == 0});
      case 3: {
        if (threads_ == 128 && Pick(3) == 0) {
          const bool registers = Pick(2) == 0;
          const BufferId from = registers ? words_ : block_;
          ExprRef c = Index(1, true), a = Index(1, registers), b = Index(2, false);
          return MakeStmt(WarpgroupMma{sum_, c, registers ? sum_ : block_, a, from, b,
                                       8 * (1 + Pick(32)), Pick(2) == 0});
        }
        const bool is_tf32 = Pick(2) == 0;
        const BufferId b = is_tf32 ? pair_ : part_;
        const int parts = kernel_.buffers[static_cast<size_t>(b)].lanes / (is_tf32 ? 2 : 4);
        return MakeStmt(Mma{sum_, Index(1, true), is_tf32 ? sum_ : wide_, Index(1, true), b,
                            Index(1, true), Pick(parts)});
      }
      default: {
        ExprRef index = Index(1, false);
        return MakeStmt(Arrive{Bind(false), counter_, std::move(index), 1 + Pick(3)});
      }
    }
  }

  // Mbarriers and the copies that arrive at them.
  StmtRef RandomAsyncStmt() {
    ExprRef at = Index(1, false), to = Index(1, false), from = Index(1, false);
    ExprRef ranks = cluster_ > 1 && Pick(2) == 0 ? Index(1, false) : nullptr;
    const int64_t size = kernel_.buffers[static_cast<size_t>(global_)].size;
    switch (Pick(5)) {
      case 0:
        return MakeStmt(MbarrierInit{barriers_, at, 1 + Pick(3)});
      case 1:
        if (ranks != nullptr) return MakeStmt(MbarrierArrive{barriers_, at, 0, ranks});
        return MakeStmt(MbarrierArrive{barriers_, at, 16 * Pick(10)});
      case 2:
        return MakeStmt(MbarrierWait{barriers_, at, to});
      case 3:
        return MakeStmt(
            CopyBulk{block_, to, global_, from, 8 * (1 + Pick(4)), barriers_, at, ranks});
      default: {
        CopyTensor copy{block_,
                        to,
                        global_,
                        from,
                        Index(1, false),
                        1 + Pick(4),
                        1,
                        1 + Pick(static_cast<int>(size)),
                        128,
                        barriers_,
                        at,
                        ranks};
        copy.step = Pick(3);
        for (int i = Pick(3); i > 0; --i) {
          copy.outer.push_back({Index(1, false), 1 + Pick(3), 1,
                                int64_t{128} * static_cast<int64_t>(copy.outer.size() + 2),
                                Pick(3)});
        }
        return MakeStmt(std::move(copy));
      }
    }
  }

  VarId Bind(bool is_static) {
    const auto var = static_cast<VarId>(kernel_.vars.size());
    kernel_.vars.push_back(Numbered('v', kernel_.vars.size()));
    bound_.push_back({var, is_static});
    return var;
  }

  StmtRef Loop(LoopKind kind, ExprRef begin, ExprRef end, int64_t step, int depth) {
    const size_t mark = bound_.size();
    const VarId var = Bind(kind == LoopKind::kUnrolled);
    StmtRef body = RandomBlock(depth + 1);
    bound_.resize(mark);
    return MakeStmt(For{var, std::move(begin), std::move(end), step, kind, std::move(body)});
  }

  StmtRef RandomBlock(int depth) {
    const size_t mark = bound_.size();
    Block block;
    const int count = Pick(5);
    for (int i = 0; i < count; ++i) block.body.push_back(RandomStmt(depth));
    bound_.resize(mark);
    return MakeStmt(std::move(block));
  }

  StmtRef RandomStmt(int depth) {
    if (gpu_ && Pick(3) == 0) return RandomGpuStmt(depth);
    switch (Pick(depth < 4 ? 6 : 3)) {
      case 0: {
        ExprRef value = Index(3, false);
        return MakeStmt(Let{Bind(false), std::move(value)});
      }
      case 1: {
        const BufferId buffer = BufferWhere(
            [](const Buffer& b) { return b.scope == Scope::kIn || b.scope == Scope::kOut; });
        return MakeStmt(Prefetch{buffer, Index(2, false), 1 + Pick(2)});
      }
      case 2: {
        const BufferId square =
            BufferWhere([](const Buffer& b) { return b.scope == Scope::kRegister && b.lanes > 1; });
        if (gpu_ || square < 0) return RandomStore();
        return MakeStmt(RegisterTranspose{square, Index(2, true)});
      }
      case 3: {
        const bool unrolled = Pick(2) == 0;
        ExprRef begin = Index(2, unrolled), end = Index(2, unrolled);
        return Loop(unrolled ? LoopKind::kUnrolled : LoopKind::kSerial, std::move(begin),
                    std::move(end), 1 + Pick(3), depth);
      }
      case 4: {
        If branch;
        branch.roles = gpu_ && depth == 1 && Pick(2) == 0;
        branch.condition = Value({DType::kBool, 1}, 3);
        branch.then_body = RandomBlock(depth + 1);
        if (Pick(2) == 0) branch.else_body = RandomBlock(depth + 1);
        return MakeStmt(std::move(branch));
      }
      default:
        return RandomStore();
    }
  }

  template <typename Predicate>
  BufferId BufferWhere(const Predicate& accepts) {
    const auto count = static_cast<int>(kernel_.buffers.size());
    const int start = Pick(count);
    for (int i = 0; i < count; ++i) {
      const int id = (start + i) % count;
      if (accepts(kernel_.buffers[static_cast<size_t>(id)])) return id;
    }
    return -1;
  }

  StmtRef RandomStore() {
    Store store;
    store.buffer = BufferWhere([](const Buffer& b) {
      return b.scope != Scope::kIn && b.scope != Scope::kCounter && b.scope != Scope::kMbarrier;
    });
    const Buffer& buffer = kernel_.buffers[static_cast<size_t>(store.buffer)];
    const bool is_register = buffer.scope == Scope::kRegister;
    const int lanes = is_register ? buffer.lanes : OneOf(kLanes);
    store.index = Index(2, is_register);
    store.value = Value({buffer.dtype, lanes}, 4);
    if (!is_register) {
      store.stride = Pick(3) == 0 ? Pick(20) - 10 : 1;
      if (Pick(3) == 0) store.mask = Index(2, false);
    }
    store.streaming = Pick(4) == 0;
    return MakeStmt(std::move(store));
  }

  ExprRef Index(int depth, bool is_static) {
    if (depth > 0 && Pick(2) == 0) {
      constexpr std::array kOps = {ScalarOp::kAdd, ScalarOp::kMul, ScalarOp::kDiv, ScalarOp::kMin};
      return Make({DType::kI64, 1},
                  Apply{OneOf(kOps), {Index(depth - 1, is_static), Index(depth - 1, is_static)}});
    }
    if (!bound_.empty() && Pick(2) == 0) {
      const Bound& bound = bound_[static_cast<size_t>(Pick(static_cast<int>(bound_.size())))];
      if (bound.is_static || !is_static) return Make({DType::kI64, 1}, VarRef{bound.var});
    }
    return Imm(Pick(5) == 0 ? static_cast<int64_t>(rng_.Next()) : Pick(100));
  }

  ExprRef Constant(DType dtype) {
    if (!IsFloat(dtype)) {
      return Make({dtype, 1}, IntImm{WrapTo(dtype, static_cast<int64_t>(rng_.Next()))});
    }
    constexpr std::array kSpecial = {0.0, -0.0, 1.0, HUGE_VAL, -HUGE_VAL};
    const double value =
        Pick(3) == 0 ? OneOf(kSpecial) : std::ldexp(rng_.Uniform() - 0.5, Pick(60) - 30);
    return Make({dtype, 1}, FloatImm{RoundTo(dtype, value)});
  }

  ExprRef Leaf(Type type) {
    const BufferId buffer = BufferWhere([&](const Buffer& b) {
      return b.scope != Scope::kCounter && b.scope != Scope::kMbarrier && b.dtype == type.dtype &&
             (b.scope != Scope::kRegister || b.lanes == type.lanes);
    });
    if (buffer >= 0 && Pick(2) == 0) {
      const bool is_register =
          kernel_.buffers[static_cast<size_t>(buffer)].scope == Scope::kRegister;
      Load load{buffer, Index(2, is_register), 1, nullptr};
      if (!is_register && Pick(3) == 0) load.stride = Pick(9) - 4;
      if (!is_register && Pick(3) == 0) load.mask = Index(1, false);
      return Make(type, std::move(load));
    }
    if (type.lanes == 1) return Constant(type.dtype);
    if (type.dtype == DType::kBool && Pick(2) == 0) return Make(type, LaneMask{Index(1, false)});
    if (type.dtype != DType::kBool && Pick(3) == 0) return Make(type, LaneIndex{});
    return Make(type, Broadcast{Constant(type.dtype)});
  }

  ExprRef Value(Type type, int depth) {
    if (depth == 0) return Leaf(type);
    const bool shuffles = type == Type{DType::kF32, 1} || type == Type{DType::kI32, 1};
    if (gpu_ && shuffles && Pick(4) == 0) {
      return Make(type, ShuffleXor{Value(type, depth - 1), 1 + Pick(31)});
    }
    const bool power = std::has_single_bit(static_cast<unsigned>(type.lanes));
    if (!gpu_ && type.lanes > 1 && power && Pick(8) == 0) {
      return Make(type, ShuffleXor{Value(type, depth - 1), 1 + Pick(type.lanes - 1)});
    }
    switch (Pick(5)) {
      case 0:
        return Leaf(type);
      case 1:
        return Make(type, Cast{Value({OneOf(kTypes), type.lanes}, depth - 1)});
      case 2:
        if (type.lanes != 1 || type.dtype == DType::kBool) return Leaf(type);
        return Make(type, ReduceLanes{OneOf(kReductions), Value({type.dtype, 8}, depth - 1)});
      default:
        return RandomApply(type, depth);
    }
  }

  // An operator whose result has the type, found by trying.
  ExprRef RandomApply(Type type, int depth) {
    for (int attempt = 0; attempt < 20; ++attempt) {
      const auto op = static_cast<ScalarOp>(Pick(ScalarOpCount()));
      const Type operand{InfoOf(op).gives_bool ? OneOf(kTypes) : type.dtype, type.lanes};
      std::vector<ExprRef> args;
      for (int i = 0; i < InfoOf(op).arity; ++i) {
        const bool is_condition = op == ScalarOp::kSelect && i == 0;
        args.push_back(Value(is_condition ? Type{DType::kBool, type.lanes} : operand, depth - 1));
      }
      const Result<Type> result = TypeOfApply(op, args);
      if (result.ok() && *result == type) return Make(type, Apply{op, std::move(args)});
    }
    return Leaf(type);
  }

  Rng& rng_;
  Kernel kernel_;
  std::vector<Bound> bound_;
  bool gpu_ = false;
  bool awaits_ = false;  // in the current phase
  int cluster_ = 1;      // blocks of a cluster, of the current phase
  int threads_ = 0;      // of a block of it
  BufferId counter_ = -1, block_ = -1, words_ = -1, global_ = -1;
  BufferId wide_ = -1, part_ = -1, sum_ = -1, pair_ = -1;  // registers of matrix operands
  BufferId codes_ = -1, halves_ = -1;                      // and of what is unpacked to them
  BufferId barriers_ = -1;
};

}  // namespace

Kernel RandomKernel(Rng& rng) { return Generator(rng).Run(); }

}  // namespace mlc::ir
