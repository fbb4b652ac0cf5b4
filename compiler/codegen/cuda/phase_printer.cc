#include "compiler/codegen/cuda/phase_printer.h"

#include <algorithm>
#include <utility>

namespace mlc::codegen {

namespace {

// Through blocks of one statement.
const ir::Stmt& Unwrapped(const ir::Stmt& stmt) {
  const auto* block = std::get_if<ir::Block>(&stmt.node);
  if (block == nullptr || block->body.size() != 1) return stmt;
  return Unwrapped(*block->body[0]);
}

bool Awaits(const ir::Stmt& stmt) {
  if (const auto* block = std::get_if<ir::Block>(&stmt.node)) {
    return std::any_of(block->body.begin(), block->body.end(),
                       [](const ir::StmtRef& s) { return Awaits(*s); });
  }
  if (const auto* loop = std::get_if<ir::For>(&stmt.node)) return Awaits(*loop->body);
  if (const auto* branch = std::get_if<ir::If>(&stmt.node)) {
    return Awaits(*branch->then_body) ||
           (branch->else_body != nullptr && Awaits(*branch->else_body));
  }
  const auto* sync = std::get_if<ir::Sync>(&stmt.node);
  return sync != nullptr && sync->kind == ir::SyncKind::kAwaitInputs;
}

bool ConstantOf(const ir::ExprRef& e, int64_t* value) {
  const auto* constant = std::get_if<ir::IntImm>(&e->node);
  if (constant != nullptr) *value = constant->value;
  return constant != nullptr;
}

}  // namespace

PhasePrinter::PhasePrinter(const ir::Kernel& kernel, const target::Target& target,
                           const GlobalLayout& global, DeviceFunctions& functions)
    : kernel_(kernel), target_(target), global_(global), functions_(functions), analysis_(kernel) {
  for (const ir::Buffer& buffer : kernel.buffers) buffers_.push_back(CxxName(buffer.name));
  for (const std::string& var : kernel.vars) vars_.push_back(CxxName(var));
}

Result<CudaLaunch> PhasePrinter::Print(const ir::For& phase, const std::string& function,
                                       std::string* text) {
  const auto bad = [&](const std::string& what) {
    return InvalidArgument("kernel '" + kernel_.name + "', phase '" + function + "': " + what);
  };
  const auto* threads = std::get_if<ir::For>(&Unwrapped(*phase.body).node);
  if (threads == nullptr || threads->kind != ir::LoopKind::kThreads) {
    return bad("has no threads loop; only kernels for GPUs become CUDA C++");
  }
  CudaLaunch launch;
  launch.function = function;
  int64_t count = 0;
  if (!ConstantOf(phase.end, &launch.grid.x) || !ConstantOf(threads->end, &count)) {
    return bad("has no constant number of blocks and threads");
  }
  launch.block = count;
  if (count < 1 || count > 1024) return bad(std::to_string(count) + " threads; at most 1024 fit");
  if (threads->cluster > 1 && target_.gpu().compute < 90) {
    return bad("needs clusters of blocks; " + target_.gpu().CudaArch() + " has none");
  }
  if (launch.grid.x > INT32_MAX) return bad(launch.grid.ToText() + " blocks are too many");
  awaits_ = target_.gpu().compute >= 90 && Awaits(*threads->body);
  uses_of_ = UsesOf(kernel_, *phase.body);
  const MemoryLayout block = PlaceSharedMemory(kernel_, uses_of_);
  launch.block_bytes = block.bytes;
  if (block.bytes > target_.gpu().block_bytes) {
    return bad("needs " + std::to_string(block.bytes) + " bytes of memory in a block; " +
               target_.gpu().CudaArch() + " has " + std::to_string(target_.gpu().block_bytes));
  }
  const bool has_tiles = std::any_of(uses_of_.begin(), uses_of_.end(),
                                     [](const BufferUse& use) { return use.is_tile; });
  if (has_tiles && !target_.gpu().HasWarpgroupMma()) {
    return bad("multiplies by warpgroup_mma, which " + target_.gpu().CudaArch() + " lacks");
  }
  analysis_.BindLoop(phase);
  analysis_.BindLoop(*threads);
  lines_.clear();
  DeclareBuffers(block);
  Line("const int " + VarName(phase.var) + " = blockIdx.x;");
  Line("const int " + VarName(threads->var) + " = threadIdx.x;");
  Print(*threads->body);
  *text += Head(*threads, function) + lines_ + "}\n";
  return launch;
}

// An output that is never read back is the only way to what it points to, unless a wait for earlier
// launches forbids to move its stores.
std::string PhasePrinter::Head(const ir::For& threads, const std::string& function) {
  int64_t count = 0;
  ConstantOf(threads.end, &count);
  std::string head = "extern \"C\" __global__ void ";
  if (threads.cluster > 1) {
    head += "__cluster_dims__(" + std::to_string(threads.cluster) + ", 1, 1) ";
  }
  head += "__launch_bounds__(" + std::to_string(count);
  if (threads.per_sm > 0) head += ", " + std::to_string(threads.per_sm);
  head += ")\n" + function + "(\n";
  for (size_t i = 0; i < kernel_.buffers.size(); ++i) {
    const ir::Buffer& buffer = kernel_.buffers[i];
    const std::string type(StorageType(buffer.dtype));
    if (buffer.scope == ir::Scope::kIn) {
      head += "    const " + type + "* __restrict__ " + buffers_[i] + ",\n";
    } else if (buffer.scope == ir::Scope::kOut) {
      head += "    " + type;
      head += awaits_ || uses_of_[i].loaded ? "* " : "* __restrict__ ";
      head += buffers_[i] + ",\n";
    }
  }
  return head + "    unsigned char* Scratch, unsigned char* Counters) {\n";
}

void PhasePrinter::DeclareBuffers(const MemoryLayout& block) {
  const bool has_tiles = std::any_of(uses_of_.begin(), uses_of_.end(),
                                     [](const BufferUse& use) { return use.is_tile; });
  if (block.bytes > 0) {
    Line("extern __shared__ __align__(" + std::to_string(has_tiles ? kTileAlignment : 128) +
         ") unsigned char SharedMemory[];");
  }
  const auto pointer = [&](size_t i, const char* base, int64_t offset) {
    const std::string type(StorageType(kernel_.buffers[i].dtype));
    Line(type + "* const " + buffers_[i] + " = (" + type + "*)(" + base + " + " +
         std::to_string(std::max<int64_t>(offset, 0)) + ");");
  };
  for (size_t i = 0; i < kernel_.buffers.size(); ++i) {
    if (!uses_of_[i].touched) continue;
    const ir::Buffer& buffer = kernel_.buffers[i];
    const Rep rep = RepOf(buffer.dtype, buffer.lanes);
    switch (buffer.scope) {
      case ir::Scope::kIn:
      case ir::Scope::kOut:
        break;
      case ir::Scope::kWorkspace:
        pointer(i, "Scratch", global_.scratch.offset[i]);
        break;
      case ir::Scope::kCounter:
        pointer(i, "Counters", global_.counters.offset[i]);
        break;
      case ir::Scope::kSharedMemory:
        pointer(i, "SharedMemory", block.offset[i]);
        break;
      case ir::Scope::kThread:
        Line(std::string(StorageType(buffer.dtype)) + " " + buffers_[i] + "[" +
             std::to_string(std::max<int64_t>(buffer.size, 1)) + "];");
        break;
      case ir::Scope::kRegister:
        Line(std::string(rep.type) + " " + buffers_[i] + "[" +
             std::to_string(std::max<int64_t>(buffer.size, 1) * rep.count) + "];");
        break;
    }
  }
}

void PhasePrinter::Line(std::string_view text) {
  lines_.append(static_cast<size_t>(depth_) * 2, ' ').append(text).append("\n");
}

void PhasePrinter::Open(std::string text) {
  Line(text + " {");
  ++depth_;
}

void PhasePrinter::Close() {
  --depth_;
  Line("}");
}

Text PhasePrinter::Temporary(std::string_view type, const Text& value) {
  std::string name = "T" + std::to_string(temporaries_++);
  Line("const " + std::string(type) + " " + name + " = " + value.text + ";");
  return {std::move(name)};
}

std::string PhasePrinter::NewArray(std::string_view type, int count, bool zeros) {
  std::string name = "V" + std::to_string(temporaries_++);
  Line(std::string(type) + " " + name + "[" + std::to_string(count) + "]" +
       (zeros ? " = {};" : ";"));
  return name;
}

}  // namespace mlc::codegen
