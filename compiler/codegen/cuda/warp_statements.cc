// Statements that threads carry out together, and copies in the background.
#include <numeric>
#include <string>

#include "compiler/codegen/cuda/phase_printer.h"

namespace mlc::codegen {

void PhasePrinter::Do(const ir::Sync& sync) {
  const bool overlaps_launches = target_.gpu().compute >= 90;
  switch (sync.kind) {
    case ir::SyncKind::kBarrier:
      return Line("__syncthreads();");
    case ir::SyncKind::kWarpBarrier:
      return Line("__syncwarp();");
    case ir::SyncKind::kCommitCopies:
      return Line(std::string(functions_.Use("CommitCopies")) + "();");
    case ir::SyncKind::kWaitCopies:
      return Line(std::string(functions_.Use("WaitCopies")) + "<" + std::to_string(sync.pending) +
                  ">();");
    case ir::SyncKind::kFenceTiles:
      return Line(std::string(functions_.Use("FenceTiles")) + "();");
    case ir::SyncKind::kWaitProducts:
      return WaitProducts(sync.pending);
    case ir::SyncKind::kAwaitInputs:
      if (!overlaps_launches) return;
      Line(std::string(functions_.Use("AwaitInputs")) + "();");
      // What inputs hold is new from here on, although the kernel runs: their addresses become
      // unknown, so that no load moves up, nor goes through the cache for read-only data.
      for (size_t i = 0; i < kernel_.buffers.size(); ++i) {
        if (!uses_of_[i].touched || kernel_.buffers[i].scope != ir::Scope::kIn) continue;
        Line("asm volatile(\"\" : \"+l\"(" + buffers_[i] + ") :: \"memory\");");
      }
      return;
    case ir::SyncKind::kReleaseDependents:
      if (overlaps_launches) Line(std::string(functions_.Use("ReleaseDependents")) + "();");
      return;
    case ir::SyncKind::kClusterBarrier:
      return Line(std::string(functions_.Use("ClusterBarrier")) + "();");
  }
}

void PhasePrinter::Do(const ir::CopyAsync& copy) {
  Begin({copy.to_index, copy.from_index, copy.mask});
  const int size = SizeOf(BufferOf(copy.to).dtype);
  const Text to = Place(copy.to, copy.to_index);
  const Text from = Place(copy.from, copy.from_index);
  Text bytes = IntText(int64_t{copy.lanes} * size, false);
  if (copy.mask != nullptr) {
    const IndexFacts facts = analysis_.Of(copy.mask);
    Text active = Scalar(copy.mask);
    const bool wide = !facts.FitsInt();
    if (facts.low < 0) active = Call(functions_.Use("Max"), active, IntText(0, wide));
    if (facts.high > copy.lanes) {
      active = Call(functions_.Use("Min"), active, IntText(copy.lanes, wide));
    }
    if (wide) active = CastTo("int", active);
    bytes = Infix(active, "*", IntText(size, false), Precedence::kMul);
  }
  const std::string function = "CopyAsync" + std::to_string(copy.lanes * size);
  Line(std::string(functions_.Use(function)) + "(" + to.text + ", " + from.text + ", " +
       bytes.text + ");");
}

void PhasePrinter::Do(const ir::LoadMatrix& load) {
  Begin({load.to_index, load.from_index});
  const ir::Buffer& buffer = BufferOf(load.to);
  const bool wide = buffer.dtype == DType::kF32;
  const char* kind = load.transposed ? "Transposed" : wide ? "F32x" : "";
  const std::string function =
      std::string("LoadMatrix") + kind + std::to_string(wide ? buffer.lanes : buffer.lanes / 2);
  const Text to = RegisterPlace(load.to, load.to_index);
  Line(Call(functions_.Use(function), to, Place(load.from, load.from_index)).text + ";");
}

void PhasePrinter::Do(const ir::LoadPeer& load) {
  Begin({load.to_index, load.from_index, load.rank});
  const int lanes = BufferOf(load.to).lanes;
  const int64_t aligned = std::gcd(analysis_.Of(load.from_index).multiple, int64_t{4});
  const int piece = static_cast<int>(std::gcd(aligned, int64_t{lanes}));
  const std::string function = "LoadPeer" + std::to_string(piece);
  const Text rank = Scalar(load.rank);
  Text from = Scalar(load.from_index);
  if (!from.IsWord() && piece < lanes) from = Temporary(TypeOf(load.from_index), from);
  for (int at = 0; at < lanes; at += piece) {
    const Text index = at == 0 ? from : Infix(from, "+", IntText(at, false), Precedence::kAdd);
    Line(std::string(functions_.Use(function)) + "(" +
         RegisterPlace(load.to, load.to_index, at).text + ", &" + NameOf(load.from) + "[" +
         index.text + "], " + rank.text + ");");
  }
}

void PhasePrinter::Do(const ir::Mma& mma) {
  Begin({mma.c_index, mma.a_index, mma.b_index});
  const DType dtype = BufferOf(mma.a).dtype;
  const char* function = dtype == DType::kF16    ? "MmaF16"
                         : dtype == DType::kBF16 ? "MmaBF16"
                                                 : "MmaTf32";
  // A fragment of b is two array elements: words of two lanes, or two floats.
  const Text c = RegisterPlace(mma.c, mma.c_index);
  const Text a = RegisterPlace(mma.a, mma.a_index);
  const Text b = RegisterPlace(mma.b, mma.b_index, 2 * mma.part);
  Line(std::string(functions_.Use(function)) + "(" + c.text + ", " + a.text + ", " + b.text + ");");
}

void PhasePrinter::Do(const ir::WarpgroupMma& mma) {
  Begin({mma.c_index, mma.a_index, mma.b_index});
  const bool from_registers = BufferOf(mma.a).scope == ir::Scope::kRegister;
  const std::string function =
      functions_.UseWarpgroupMma({BufferOf(mma.a).dtype, mma.columns, from_registers, mma.adds});
  const Text c = RegisterPlace(mma.c, mma.c_index);
  const Text a = from_registers ? RegisterPlace(mma.a, mma.a_index) : Place(mma.a, mma.a_index);
  const Text b = Place(mma.b, mma.b_index);
  product_registers_.insert(mma.c);
  if (from_registers) product_registers_.insert(mma.a);
  Line(function + "(" + c.text + ", " + a.text + ", " + b.text + ");");
}

// The compiler must not move what reads the sums before the wait that ends all products, nor use
// the registers of an operand for something else before.
void PhasePrinter::WaitProducts(int pending) {
  Line(std::string(functions_.Use("WaitProducts")) + "<" + std::to_string(pending) + ">();");
  if (pending > 0) return;
  for (const ir::BufferId id : product_registers_) {
    const ir::Buffer& buffer = BufferOf(id);
    LaneLoop(0, static_cast<int>(buffer.size) * buffer.lanes,
             [&] { return "asm volatile(\"\" : \"+f\"(" + NameOf(id) + "[L]) :: \"memory\");"; });
  }
}

void PhasePrinter::Do(const ir::Arrive& arrive) {
  Begin({arrive.index});
  const Text counter = Place(arrive.counter, arrive.index);
  analysis_.Bind(arrive.var, IndexFacts::Interval(0, 1));
  Line("const int " + VarName(arrive.var) + " = " +
       Call(functions_.Use("ArriveLast"), counter, IntText(arrive.of, false)).text + ";");
}

}  // namespace mlc::codegen
