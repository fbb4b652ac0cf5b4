// Loads and stores of one phase: the buffers' bases, vector accesses with masks and strides, what
// is known of alignment, alias scopes. Values are in memory types. Not thread-safe; one emitter per
// function; borrows everything it is given.
#pragma once

#include <vector>

#include "compiler/codegen/affine.h"
#include "compiler/codegen/features.h"
#include "compiler/ir/ir.h"

namespace llvm {
class Function;
class MDNode;
}  // namespace llvm

namespace mlc::codegen {

// Where a vector access lies: all its lanes `stride` elements apart.
struct Access {
  ir::BufferId buffer;
  Affine index;
  int64_t stride;
  int lanes;
  Affine active;  // lanes touched, when masked
  bool masked;
};

class MemoryEmitter {
 public:
  MemoryEmitter(const ir::Kernel& kernel, const Features& features, llvm::IRBuilderBase& builder,
                llvm::Function& function, IndexPool& pool);

  // Emits the bases of all buffers at the builder's position. Call it first.
  void Begin();
  // The caller's limit, an i64. REQUIRES: the kernel takes one.
  llvm::Value* limit() const { return limit_; }
  llvm::Value* Load(const Access& access);
  void Store(const Access& access, llvm::Value* value, bool streaming);
  llvm::Value* AddressOf(ir::BufferId buffer, const Affine& index);

 private:
  void EmitBases();
  void EmitAliasScopes();
  llvm::Value* LoadStrided(const Access& access);
  llvm::Value* LoadPicked(const Access& access);
  void StoreStreaming(const Access& access, llvm::Value* value, llvm::Value* address);
  void StoreStrided(const Access& access, llvm::Value* value);
  void StoreLeading(const Access& access, llvm::Value* value, int64_t count);
  llvm::Value* LaneAddresses(const Access& access);
  uint64_t AlignmentOf(ir::BufferId buffer, const Affine& index) const;
  // The same for a base that is aligned to a cache line.
  uint64_t OffsetAlignment(ir::BufferId buffer, const Affine& index) const;
  llvm::Value* MaskOf(const Access& access);
  template <typename Instruction>
  Instruction* Tag(Instruction* memory, ir::BufferId buffer);

  const ir::Kernel& kernel_;
  const Features& features_;
  llvm::IRBuilderBase& b_;
  llvm::Function& function_;
  IndexPool& pool_;
  llvm::Value* limit_ = nullptr;
  std::vector<llvm::Value*> bases_;          // by BufferId
  std::vector<llvm::MDNode*> own_scope_;     // by BufferId
  std::vector<llvm::MDNode*> other_scopes_;  // by BufferId
};

}  // namespace mlc::codegen
