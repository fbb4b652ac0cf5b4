#include "base/check.h"
#include "compiler/codegen/llvm.h"
#include "compiler/codegen/scratch.h"

namespace mlc::codegen {

namespace {

constexpr int64_t kScratchAlign = 64;

int64_t ConstantOf(const ir::ExprRef& e) {
  const auto* imm = std::get_if<ir::IntImm>(&e->node);
  MLC_CHECK(imm != nullptr) << "the bounds of a phase are constants";
  return imm->value;
}

}  // namespace

std::vector<int64_t> ScratchOffsets(const ir::Kernel& kernel, ir::Scope scope, int64_t* total) {
  std::vector<int64_t> offsets(kernel.buffers.size(), 0);
  int64_t end = 0;
  for (size_t i = 0; i < kernel.buffers.size(); ++i) {
    const ir::Buffer& buffer = kernel.buffers[i];
    if (buffer.scope != scope) continue;
    offsets[i] = end;
    const int64_t bytes = buffer.size * SizeOf(buffer.dtype);
    end += (bytes + kScratchAlign - 1) / kScratchAlign * kScratchAlign;
  }
  *total = end;
  return offsets;
}

KernelLayout LayoutOf(const ir::Kernel& kernel) {
  KernelLayout layout;
  for (const ir::StmtRef& phase : kernel.phases) {
    const auto* loop = std::get_if<ir::For>(&phase->node);
    MLC_CHECK(loop != nullptr) << "a phase is a parallel loop";
    const int64_t begin = ConstantOf(loop->begin);
    const int64_t end = ConstantOf(loop->end);
    layout.phase_extents.push_back(end <= begin ? 0 : (end - begin + loop->step - 1) / loop->step);
  }
  ScratchOffsets(kernel, ir::Scope::kWorkspace, &layout.workspace_bytes);
  ScratchOffsets(kernel, ir::Scope::kThread, &layout.thread_bytes);
  return layout;
}

}  // namespace mlc::codegen
