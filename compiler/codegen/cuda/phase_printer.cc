#include "compiler/codegen/cuda/phase_printer.h"

#include <algorithm>

#include "compiler/codegen/cuda/phase_scope.h"
#include "compiler/codegen/cuda/phase_text.h"
#include "compiler/codegen/cuda/statements.h"

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

bool HasBarriers(const PhaseScope& scope) {
  for (size_t i = 0; i < scope.uses.size(); ++i) {
    if (scope.uses[i].touched && scope.kernel.buffers[i].scope == ir::Scope::kMbarrier) return true;
  }
  return false;
}

bool HasTiles(const PhaseScope& scope) {
  return std::any_of(scope.uses.begin(), scope.uses.end(),
                     [](const BufferUse& use) { return use.is_tile; });
}

// An output that is never read back is the only way to what it points to, unless a wait for earlier
// launches forbids to move its stores.
std::string Head(const PhaseScope& scope, const ir::For& threads, const std::string& function,
                 bool awaits, bool copies_tensors) {
  int64_t count = 0;
  ConstantOf(threads.end, &count);
  std::string head = "extern \"C\" __global__ void ";
  if (threads.cluster > 1) {
    head += "__cluster_dims__(" + std::to_string(threads.cluster) + ", 1, 1) ";
  }
  head += "__launch_bounds__(" + std::to_string(count);
  if (threads.per_sm > 0) head += ", " + std::to_string(threads.per_sm);
  head += ")\n" + function + "(\n";
  for (size_t i = 0; i < scope.kernel.buffers.size(); ++i) {
    const ir::Buffer& buffer = scope.kernel.buffers[i];
    const std::string type(StorageType(buffer.dtype));
    if (buffer.scope == ir::Scope::kIn) {
      head += "    const " + type + "* __restrict__ " + scope.buffers[i] + ",\n";
    } else if (buffer.scope == ir::Scope::kOut) {
      head += "    " + type;
      head += awaits || scope.uses[i].loaded ? "* " : "* __restrict__ ";
      head += scope.buffers[i] + ",\n";
    }
  }
  head += "    unsigned char* Scratch, unsigned char* Counters";
  for (size_t i = 0; copies_tensors && i < scope.maps.all().size(); ++i) {
    head += ",\n    const __grid_constant__ TensorMap " + TensorMaps::Name(i);
  }
  return head + ") {\n";
}

void DeclareBuffers(const PhaseScope& scope, const GlobalLayout& global, const MemoryLayout& block,
                    PhaseText& text) {
  if (block.bytes > 0) {
    text.Line("extern __shared__ __align__(" +
              std::to_string(HasTiles(scope) ? kTileAlignment : 128) +
              ") unsigned char SharedMemory[];");
  }
  const auto pointer = [&](size_t i, const char* base, int64_t offset) {
    const std::string type(StorageType(scope.kernel.buffers[i].dtype));
    text.Line(type + "* const " + scope.buffers[i] + " = (" + type + "*)(" + base + " + " +
              std::to_string(std::max<int64_t>(offset, 0)) + ");");
  };
  for (size_t i = 0; i < scope.kernel.buffers.size(); ++i) {
    if (!scope.uses[i].touched) continue;
    const ir::Buffer& buffer = scope.kernel.buffers[i];
    const LaneArray form = LaneArray::Of(buffer.dtype, buffer.lanes);
    switch (buffer.scope) {
      case ir::Scope::kIn:
      case ir::Scope::kOut:
        break;
      case ir::Scope::kWorkspace:
        pointer(i, "Scratch", global.scratch.offset[i]);
        break;
      case ir::Scope::kCounter:
        pointer(i, "Counters", global.counters.offset[i]);
        break;
      case ir::Scope::kMbarrier:
      case ir::Scope::kSharedMemory:
        pointer(i, "SharedMemory", block.offset[i]);
        break;
      case ir::Scope::kThread:
        text.Line(std::string(StorageType(buffer.dtype)) + " " + scope.buffers[i] + "[" +
                  std::to_string(std::max<int64_t>(buffer.size, 1)) + "];");
        break;
      case ir::Scope::kRegister:
        text.Line(std::string(form.type) + " " + scope.buffers[i] + "[" +
                  std::to_string(std::max<int64_t>(buffer.size, 1) * form.count) + "];");
        break;
    }
  }
}

// The maps are on their way while the block makes its barriers and waits for its inputs.
void PrefetchMaps(const PhaseScope& scope, PhaseText& text) {
  for (size_t i = 0; i < scope.maps.all().size(); ++i) {
    text.Line(std::string(scope.functions.Use("PrefetchTensorMap")) + "(&" + TensorMaps::Name(i) +
              ");");
  }
}

}  // namespace

Result<CudaLaunch> PrintPhase(const ir::Kernel& kernel, const target::Target& target,
                              const GlobalLayout& global, const ir::For& phase,
                              const std::string& function, DeviceFunctions& functions,
                              std::string* text) {
  const auto bad = [&](const std::string& what) {
    return InvalidArgument("kernel '" + kernel.name + "', phase '" + function + "': " + what);
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
  if (threads->cluster > 1 && target.gpu().compute < 90) {
    return bad("needs clusters of blocks; " + target.gpu().CudaArch() + " has none");
  }
  if (launch.grid.x > INT32_MAX) return bad(launch.grid.ToText() + " blocks are too many");
  const bool awaits = target.gpu().compute >= 90 && Awaits(*threads->body);
  const bool copies_tensors = CopiesTensors(*threads->body);
  PhaseScope scope(kernel, target, global.maps, functions);
  scope.threads = static_cast<int>(count);
  scope.uses = UsesOf(kernel, *phase.body);
  const MemoryLayout block = PlaceSharedMemory(kernel, scope.uses);
  launch.block_bytes = block.bytes;
  if (block.bytes > target.gpu().block_bytes) {
    return bad("needs " + std::to_string(block.bytes) + " bytes of memory in a block; " +
               target.gpu().CudaArch() + " has " + std::to_string(target.gpu().block_bytes));
  }
  if (HasTiles(scope) && !target.gpu().HasWarpgroupMma()) {
    return bad("multiplies by warpgroup_mma, which " + target.gpu().CudaArch() + " lacks");
  }
  if (HasBarriers(scope) && !target.gpu().HasWarpgroupMma()) {
    return bad("waits at mbarriers, which " + target.gpu().CudaArch() + " lacks");
  }
  scope.analysis.BindLoop(phase);
  scope.analysis.BindLoop(*threads);
  PhaseText body;
  DeclareBuffers(scope, global, block, body);
  body.Line("const int " + scope.VarName(phase.var) + " = blockIdx.x;");
  body.Line("const int " + scope.VarName(threads->var) + " = threadIdx.x;");
  if (copies_tensors) PrefetchMaps(scope, body);
  StatementPrinter(scope, body).Print(*threads->body);
  *text += Head(scope, *threads, function, awaits, copies_tensors) + body.lines() + "}\n";
  return launch;
}

}  // namespace mlc::codegen
