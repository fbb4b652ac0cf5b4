#include "compiler/codegen/cuda/shared_memory.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

namespace mlc::codegen {

namespace {

constexpr int64_t kAlignment = 128;

int64_t Aligned(int64_t bytes, int64_t to = kAlignment) { return (bytes + to - 1) / to * to; }
int64_t BytesOf(const ir::Buffer& buffer) { return buffer.size * SizeOf(buffer.dtype); }

bool InBlock(const ir::Buffer& buffer) {
  return buffer.scope == ir::Scope::kSharedMemory || buffer.scope == ir::Scope::kMbarrier;
}

class Usage {
 public:
  explicit Usage(const ir::Kernel& kernel) : used_(kernel.buffers.size()) {}
  std::vector<BufferUse> Take() { return std::move(used_); }

  void Walk(const ir::Stmt& stmt) {
    std::visit([this](const auto& node) { Do(node); }, stmt.node);
  }

 private:
  void Use(ir::BufferId id) { used_[static_cast<size_t>(id)].touched = true; }

  void Do(const ir::Block& block) {
    for (const ir::StmtRef& stmt : block.body) Walk(*stmt);
  }
  void Do(const ir::For& loop) {
    Walk(loop.begin);
    Walk(loop.end);
    Walk(*loop.body);
  }
  void Do(const ir::If& branch) {
    Walk(branch.condition);
    Walk(*branch.then_body);
    if (branch.else_body != nullptr) Walk(*branch.else_body);
  }
  void Do(const ir::Let& let) { Walk(let.value); }
  void Do(const ir::Store& store) {
    Use(store.buffer);
    Walk(store.index);
    Walk(store.value);
    Walk(store.mask);
  }
  void Do(const ir::Prefetch& prefetch) {
    Use(prefetch.buffer);
    Walk(prefetch.index);
  }
  void Do(const ir::RegisterTranspose&) {}
  void Do(const ir::Sync&) {}
  void Do(const ir::CopyAsync& copy) {
    Use(copy.to);
    Use(copy.from);
    Walk(copy.to_index);
    Walk(copy.from_index);
    Walk(copy.mask);
  }
  void Do(const ir::LoadMatrix& load) {
    Use(load.to);
    Use(load.from);
    Walk(load.to_index);
    Walk(load.from_index);
  }
  void Do(const ir::LoadPeer& load) {
    Use(load.to);
    Use(load.from);
    Walk(load.to_index);
    Walk(load.from_index);
    Walk(load.rank);
  }
  void Do(const ir::Unpack& unpack) {
    for (const ir::BufferId id : {unpack.to, unpack.codes, unpack.zeros, unpack.scales}) Use(id);
    for (const ir::ExprRef& index :
         {unpack.to_index, unpack.codes_index, unpack.zeros_index, unpack.scales_index}) {
      Walk(index);
    }
  }
  void Do(const ir::Mma& mma) {
    for (const ir::BufferId id : {mma.c, mma.a, mma.b}) Use(id);
    for (const ir::ExprRef& index : {mma.c_index, mma.a_index, mma.b_index}) Walk(index);
  }
  void Do(const ir::WarpgroupMma& mma) {
    for (const ir::BufferId id : {mma.c, mma.a, mma.b}) Use(id);
    for (const ir::BufferId id : {mma.a, mma.b}) used_[static_cast<size_t>(id)].is_tile = true;
    for (const ir::ExprRef& index : {mma.c_index, mma.a_index, mma.b_index}) Walk(index);
  }
  void Do(const ir::MbarrierInit& init) {
    Use(init.barrier);
    Walk(init.index);
  }
  void Do(const ir::MbarrierArrive& arrive) {
    Use(arrive.barrier);
    Walk(arrive.index);
    Walk(arrive.rank);
  }
  void Do(const ir::MbarrierWait& wait) {
    Use(wait.barrier);
    Walk(wait.index);
    Walk(wait.parity);
  }
  void Do(const ir::CopyBulk& copy) {
    for (const ir::BufferId id : {copy.to, copy.from, copy.barrier}) Use(id);
    for (const ir::ExprRef& e : {copy.to_index, copy.from_index, copy.barrier_index, copy.ranks}) {
      Walk(e);
    }
  }
  void Do(const ir::CopyTensor& copy) {
    for (const ir::BufferId id : {copy.to, copy.from, copy.barrier}) Use(id);
    // Swizzles count from multiples of 1024 bytes.
    used_[static_cast<size_t>(copy.to)].is_tile = true;
    for (const ir::ExprRef& e : {copy.to_index, copy.row, copy.k, copy.barrier_index, copy.ranks}) {
      Walk(e);
    }
    for (const ir::BoxAxis& axis : copy.outer) Walk(axis.at);
  }
  void Do(const ir::Arrive& arrive) {
    Use(arrive.counter);
    Walk(arrive.index);
  }

  void Walk(const ir::ExprRef& e) {
    if (e == nullptr || !seen_.insert(e.get()).second) return;
    if (const auto* load = std::get_if<ir::Load>(&e->node)) {
      Use(load->buffer);
      used_[static_cast<size_t>(load->buffer)].loaded = true;
      Walk(load->index);
      Walk(load->mask);
    } else if (const auto* apply = std::get_if<ir::Apply>(&e->node)) {
      for (const ir::ExprRef& arg : apply->args) Walk(arg);
    } else if (const auto* cast = std::get_if<ir::Cast>(&e->node)) {
      Walk(cast->value);
    } else if (const auto* broadcast = std::get_if<ir::Broadcast>(&e->node)) {
      Walk(broadcast->value);
    } else if (const auto* reduce = std::get_if<ir::ReduceLanes>(&e->node)) {
      Walk(reduce->value);
    } else if (const auto* mask = std::get_if<ir::LaneMask>(&e->node)) {
      Walk(mask->active);
    } else if (const auto* shuffle = std::get_if<ir::ShuffleXor>(&e->node)) {
      Walk(shuffle->value);
    }
  }

  std::vector<BufferUse> used_;
  std::unordered_set<const ir::Expr*> seen_;  // expressions share parts
};

}  // namespace

std::vector<BufferUse> UsesOf(const ir::Kernel& kernel, const ir::Stmt& phase) {
  Usage usage(kernel);
  usage.Walk(phase);
  return usage.Take();
}

MemoryLayout PlaceSharedMemory(const ir::Kernel& kernel, const std::vector<BufferUse>& uses) {
  const size_t count = kernel.buffers.size();
  // What the place of each buffer must hold: itself and what overlays it.
  std::vector<int64_t> need(count, 0);
  for (size_t i = 0; i < count; ++i) {
    const ir::Buffer& buffer = kernel.buffers[i];
    if (!InBlock(buffer) || !uses[i].touched) continue;
    const size_t place = buffer.overlays < 0 ? i : static_cast<size_t>(buffer.overlays);
    need[place] = std::max(need[place], BytesOf(buffer));
  }
  MemoryLayout layout{std::vector<int64_t>(count, -1), 0};
  for (size_t i = 0; i < count; ++i) {
    const ir::Buffer& buffer = kernel.buffers[i];
    if (!InBlock(buffer)) continue;
    if (buffer.overlays >= 0) {
      layout.offset[i] = layout.offset[static_cast<size_t>(buffer.overlays)];
    } else if (need[i] > 0) {
      if (uses[i].is_tile) layout.bytes = Aligned(layout.bytes, kTileAlignment);
      layout.offset[i] = layout.bytes;
      layout.bytes += Aligned(need[i]);
    }
  }
  return layout;
}

MemoryLayout PlaceGlobal(const ir::Kernel& kernel, ir::Scope scope) {
  MemoryLayout layout{std::vector<int64_t>(kernel.buffers.size(), -1), 0};
  for (size_t i = 0; i < kernel.buffers.size(); ++i) {
    if (kernel.buffers[i].scope != scope) continue;
    layout.offset[i] = layout.bytes;
    layout.bytes += Aligned(BytesOf(kernel.buffers[i]));
  }
  return layout;
}

}  // namespace mlc::codegen
