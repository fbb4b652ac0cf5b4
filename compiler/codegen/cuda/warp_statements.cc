#include "compiler/codegen/cuda/warp_statements.h"

#include <algorithm>
#include <numeric>
#include <string>

namespace mlc::codegen {

namespace {

constexpr int kSmRegisters = 65536;

}  // namespace

void WarpStatementPrinter::Print(const ir::Sync& sync) {
  const bool overlaps_launches = scope_.target.gpu().compute >= 90;
  switch (sync.kind) {
    case ir::SyncKind::kBarrier:
      return text_.Line("__syncthreads();");
    case ir::SyncKind::kWarpBarrier:
      return text_.Line("__syncwarp();");
    case ir::SyncKind::kCommitCopies:
      return text_.Line(std::string(scope_.functions.Use("CommitCopies")) + "();");
    case ir::SyncKind::kWaitCopies:
      return text_.Line(std::string(scope_.functions.Use("WaitCopies")) + "<" +
                        std::to_string(sync.pending) + ">();");
    case ir::SyncKind::kFenceTiles:
      return text_.Line(std::string(scope_.functions.Use("FenceTiles")) + "();");
    case ir::SyncKind::kWaitProducts:
      return WaitProducts(sync.pending);
    case ir::SyncKind::kAwaitInputs:
      if (overlaps_launches) AwaitInputs();
      return;
    case ir::SyncKind::kReleaseDependents:
      if (overlaps_launches)
        text_.Line(std::string(scope_.functions.Use("ReleaseDependents")) + "();");
      return;
    case ir::SyncKind::kMakeTensorMaps:
      return;  // the host has made them
    case ir::SyncKind::kSetRegisters:
      return SetRegisters(sync.pending);
    case ir::SyncKind::kClusterBarrier:
      return text_.Line(std::string(scope_.functions.Use("ClusterBarrier")) + "();");
  }
}

void WarpStatementPrinter::AwaitInputs() {
  text_.Line(std::string(scope_.functions.Use("AwaitInputs")) + "();");
  // What inputs hold is new from here on, although the kernel runs: their addresses become
  // unknown, so that no load moves up, nor goes through the cache for read-only data. That they
  // are of global memory stays known, so that loads may pass stores to shared memory.
  for (size_t i = 0; i < scope_.kernel.buffers.size(); ++i) {
    if (!scope_.uses[i].touched || scope_.kernel.buffers[i].scope != ir::Scope::kIn) continue;
    const std::string& input = scope_.buffers[i];
    text_.Line(input + " = " + std::string(scope_.functions.Use("NewlyWritten")) + "(" + input +
               ");");
  }
}

void WarpStatementPrinter::SetRegisters(int count) {
  // What each thread has at the beginning: its share of a multiprocessor.
  const bool more = count > kSmRegisters / scope_.threads;
  text_.Line("asm volatile(\"setmaxnreg." + std::string(more ? "inc" : "dec") +
             ".sync.aligned.u32 " + std::to_string(count) + ";\");");
}

void WarpStatementPrinter::Print(const ir::CopyAsync& copy) {
  expressions_.Begin({copy.to_index, copy.from_index, copy.mask});
  const int size = SizeOf(scope_.BufferOf(copy.to).dtype);
  const Text to = scalars_.Place(copy.to, copy.to_index);
  const Text from = scalars_.Place(copy.from, copy.from_index);
  Text bytes = IntText(int64_t{copy.lanes} * size, false);
  if (copy.mask != nullptr) {
    const IndexFacts facts = scope_.analysis.Of(copy.mask);
    Text active = scalars_.Scalar(copy.mask);
    const bool wide = !facts.FitsInt();
    if (facts.low < 0) active = Call(scope_.functions.Use("Max"), active, IntText(0, wide));
    if (facts.high > copy.lanes) {
      active = Call(scope_.functions.Use("Min"), active, IntText(copy.lanes, wide));
    }
    if (wide) active = CastTo("int", active);
    bytes = Infix(active, "*", IntText(size, false), Precedence::kMul);
  }
  const std::string function = "CopyAsync" + std::to_string(copy.lanes * size);
  text_.Line(std::string(scope_.functions.Use(function)) + "(" + to.text + ", " + from.text + ", " +
             bytes.text + ");");
}

void WarpStatementPrinter::Print(const ir::LoadMatrix& load) {
  expressions_.Begin({load.to_index, load.from_index});
  const ir::Buffer& buffer = scope_.BufferOf(load.to);
  const bool wide = buffer.dtype == DType::kF32;
  const char* kind = load.transposed ? "Transposed" : wide ? "F32x" : "";
  const int words = buffer.lanes * SizeOf(buffer.dtype) / 4;
  const std::string function = std::string("LoadMatrix") + kind + std::to_string(words);
  const Text to = scalars_.RegisterPlace(load.to, load.to_index);
  text_.Line(
      Call(scope_.functions.Use(function), to, scalars_.Place(load.from, load.from_index)).text +
      ";");
}

void WarpStatementPrinter::Print(const ir::LoadPeer& load) {
  expressions_.Begin({load.to_index, load.from_index, load.rank});
  const int lanes = scope_.BufferOf(load.to).lanes;
  const int64_t aligned = std::gcd(scope_.analysis.Of(load.from_index).multiple, int64_t{4});
  const int piece = static_cast<int>(std::gcd(aligned, int64_t{lanes}));
  const std::string function = "LoadPeer" + std::to_string(piece);
  const Text rank = scalars_.Scalar(load.rank);
  Text from = scalars_.Scalar(load.from_index);
  if (!from.IsWord() && piece < lanes) from = text_.Temporary(scope_.TypeOf(load.from_index), from);
  for (int at = 0; at < lanes; at += piece) {
    const Text index = at == 0 ? from : Infix(from, "+", IntText(at, false), Precedence::kAdd);
    text_.Line(std::string(scope_.functions.Use(function)) + "(" +
               scalars_.RegisterPlace(load.to, load.to_index, at).text + ", &" +
               scope_.NameOf(load.from) + "[" + index.text + "], " + rank.text + ");");
  }
}

void WarpStatementPrinter::Print(const ir::Unpack& unpack) {
  expressions_.Begin(
      {unpack.to_index, unpack.codes_index, unpack.zeros_index, unpack.scales_index});
  const bool is_f16 = scope_.BufferOf(unpack.to).dtype == DType::kF16;
  const bool is_biased = unpack.bias != 0;
  const Text to = scalars_.RegisterPlace(unpack.to, unpack.to_index);
  // In words, of codes of float8 as well.
  const Text codes =
      scalars_.RegisterPlace(unpack.codes, unpack.codes_index, unpack.part * unpack.bits / 4);
  const auto pair = [&](ir::BufferId id, const ir::ExprRef& index) {
    return scope_.NameOf(id) + "[" + scalars_.RegisterBase(scope_.BufferOf(id), index).text + "]";
  };
  const std::string scales = pair(unpack.scales, unpack.scales_index);
  const DType of = scope_.BufferOf(unpack.codes).dtype;
  if (IsFloat8(of)) {
    const std::string function = std::string("Unpack") +
                                 (of == DType::kF8E4M3Fn ? "E4M3" : "E5M2") +
                                 (is_f16 ? "F16" : "BF16");
    text_.Line(std::string(scope_.functions.Use(function)) + "(" + to.text + ", " + codes.text +
               ", " + scales + ");");
    return;
  }
  const std::string function = "Unpack" + std::to_string(unpack.bits) + (is_f16 ? "F16" : "BF16");
  const std::string zeros = pair(unpack.zeros, unpack.zeros_index);
  text_.Line(std::string(scope_.functions.Use(function)) + "(" + to.text + ", " + codes.text +
             ", " + zeros + ", " + scales + ", " + (is_biased ? "true" : "false") + ");");
}

void WarpStatementPrinter::Print(const ir::Mma& mma) {
  expressions_.Begin({mma.c_index, mma.a_index, mma.b_index});
  const DType dtype = scope_.BufferOf(mma.a).dtype;
  const char* function = dtype == DType::kF16    ? "MmaF16"
                         : dtype == DType::kBF16 ? "MmaBF16"
                         : dtype == DType::kU8   ? "MmaU8I8"
                                                 : "MmaTf32";
  // A fragment of b is two array elements: words of lanes, or two floats.
  const Text c = scalars_.RegisterPlace(mma.c, mma.c_index);
  const Text a = scalars_.RegisterPlace(mma.a, mma.a_index);
  const Text b = scalars_.RegisterPlace(mma.b, mma.b_index, 2 * mma.part);
  text_.Line(std::string(scope_.functions.Use(function)) + "(" + c.text + ", " + a.text + ", " +
             b.text + ");");
}

void WarpStatementPrinter::Print(const ir::WarpgroupMma& mma) {
  expressions_.Begin({mma.c_index, mma.a_index, mma.b_index});
  const bool from_registers = scope_.BufferOf(mma.a).scope == ir::Scope::kRegister;
  const std::string function =
      scope_.functions.UseWarpgroupMma({scope_.BufferOf(mma.a).dtype, scope_.BufferOf(mma.b).dtype,
                                        mma.columns, from_registers, mma.adds, mma.across});
  const Text c = scalars_.RegisterPlace(mma.c, mma.c_index);
  const Text a = from_registers ? scalars_.RegisterPlace(mma.a, mma.a_index)
                                : scalars_.Place(mma.a, mma.a_index);
  const Text b = scalars_.Place(mma.b, mma.b_index);
  std::set<ir::BufferId>& registers = products_.emplace_back();
  registers.insert(mma.c);
  if (from_registers) registers.insert(mma.a);
  text_.Line(function + "(" + c.text + ", " + a.text + ", " + b.text + ");");
}

// The compiler must not move what reads the sums before the wait that ends their products, nor use
// the registers of an operand for something else before. Of loops, it is the order of the text that
// tells which products a wait leaves under way.
void WarpStatementPrinter::WaitProducts(int pending) {
  text_.Line(std::string(scope_.functions.Use("WaitProducts")) + "<" + std::to_string(pending) +
             ">();");
  const size_t left = std::min(products_.size(), static_cast<size_t>(pending));
  const auto first_left = products_.end() - static_cast<ptrdiff_t>(left);
  std::set<ir::BufferId> ended;
  for (auto p = products_.begin(); p != first_left; ++p) ended.insert(p->begin(), p->end());
  for (auto p = first_left; p != products_.end(); ++p) {
    for (const ir::BufferId id : *p) ended.erase(id);
  }
  for (const ir::BufferId id : ended) {
    const ir::Buffer& buffer = scope_.BufferOf(id);
    const LaneArray form = LaneArray::Of(buffer.dtype, buffer.lanes);
    expressions_.lanes.Loop(0, static_cast<int>(buffer.size) * form.count, [&] {
      const bool words = form.words || buffer.dtype == DType::kI32;
      return "asm volatile(\"\" : \"+" + std::string(words ? "r" : "f") + "\"(" +
             scope_.NameOf(id) + "[L]) :: \"memory\");";
    });
  }
}

void WarpStatementPrinter::Print(const ir::Arrive& arrive) {
  expressions_.Begin({arrive.index});
  const Text counter = scalars_.Place(arrive.counter, arrive.index);
  scope_.analysis.Bind(arrive.var, IndexFacts::Interval(0, 1));
  text_.Line("const int " + scope_.VarName(arrive.var) + " = " +
             Call(scope_.functions.Use("ArriveLast"), counter, IntText(arrive.of, false)).text +
             ";");
}

}  // namespace mlc::codegen
