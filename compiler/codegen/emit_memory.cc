#include "compiler/codegen/emit_memory.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <numeric>

#include "compiler/codegen/convert.h"
#include "compiler/codegen/scratch.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/MDBuilder.h"

namespace mlc::codegen {

using llvm::Value;

namespace {

constexpr uint64_t kBaseAlign = 64;
constexpr int64_t kMaxPickedStride = 4;

llvm::MaybeAlign ElementAlign(int64_t element_bytes) {
  return llvm::MaybeAlign(static_cast<uint64_t>(element_bytes));
}

}  // namespace

MemoryEmitter::MemoryEmitter(const ir::Kernel& kernel, const Features& features,
                             llvm::IRBuilderBase& builder, llvm::Function& function,
                             IndexPool& pool)
    : kernel_(kernel),
      features_(features),
      b_(builder),
      function_(function),
      pool_(pool),
      bases_(kernel.buffers.size()),
      own_scope_(kernel.buffers.size()),
      other_scopes_(kernel.buffers.size()) {}

void MemoryEmitter::Begin() {
  EmitBases();
  EmitAliasScopes();
}

// Parameters first, then the limit, then the bases of the two scratch areas, as runtime/abi.h
// orders them.
void MemoryEmitter::EmitBases() {
  int64_t workspace_bytes = 0;
  int64_t thread_bytes = 0;
  const auto shared = ScratchOffsets(kernel_, ir::Scope::kWorkspace, &workspace_bytes);
  const auto thread = ScratchOffsets(kernel_, ir::Scope::kThread, &thread_bytes);
  Value* table = function_.getArg(0);
  const auto entry = [&](int index) {
    Value* slot = b_.CreateConstGEP1_64(b_.getPtrTy(), table, static_cast<uint64_t>(index));
    return b_.CreateLoad(b_.getPtrTy(), slot);
  };
  const int params = kernel_.NumParams() + (kernel_.limit >= 0 ? 1 : 0);
  if (kernel_.limit >= 0) limit_ = b_.CreatePtrToInt(entry(params - 1), b_.getInt64Ty());
  Value* workspace_base = workspace_bytes > 0 ? entry(params) : nullptr;
  Value* thread_base = nullptr;
  if (thread_bytes > 0) {
    Value* own = b_.CreateMul(function_.getArg(3), b_.getInt64(thread_bytes));
    thread_base = b_.CreateGEP(b_.getInt8Ty(), entry(params + 1), own);
  }
  int param = 0;
  for (size_t i = 0; i < bases_.size(); ++i) {
    switch (kernel_.buffers[i].scope) {
      case ir::Scope::kIn:
      case ir::Scope::kOut:
        bases_[i] = entry(param++);
        break;
      case ir::Scope::kWorkspace:
        bases_[i] = b_.CreateGEP(b_.getInt8Ty(), workspace_base, b_.getInt64(shared[i]));
        break;
      case ir::Scope::kThread:
        bases_[i] = b_.CreateGEP(b_.getInt8Ty(), thread_base, b_.getInt64(thread[i]));
        break;
      case ir::Scope::kRegister:
      case ir::Scope::kCounter:
      case ir::Scope::kMbarrier:
      case ir::Scope::kSharedMemory:
        break;
    }
  }
}

// Buffers do not overlap, so an access to one never waits for an access to another.
void MemoryEmitter::EmitAliasScopes() {
  llvm::MDBuilder metadata(b_.getContext());
  llvm::MDNode* domain = metadata.createAnonymousAliasScopeDomain();
  std::vector<llvm::Metadata*> scopes(bases_.size());
  for (size_t i = 0; i < scopes.size(); ++i) {
    scopes[i] = metadata.createAnonymousAliasScope(domain);
  }
  for (size_t i = 0; i < scopes.size(); ++i) {
    std::vector<llvm::Metadata*> others;
    std::copy_if(scopes.begin(), scopes.end(), std::back_inserter(others),
                 [&](const llvm::Metadata* scope) { return scope != scopes[i]; });
    own_scope_[i] = llvm::MDNode::get(b_.getContext(), scopes[i]);
    other_scopes_[i] = llvm::MDNode::get(b_.getContext(), others);
  }
}

template <typename Instruction>
Instruction* MemoryEmitter::Tag(Instruction* memory, ir::BufferId buffer) {
  memory->setMetadata(llvm::LLVMContext::MD_alias_scope, own_scope_[static_cast<size_t>(buffer)]);
  memory->setMetadata(llvm::LLVMContext::MD_noalias, other_scopes_[static_cast<size_t>(buffer)]);
  return memory;
}

Value* MemoryEmitter::AddressOf(ir::BufferId buffer, const Affine& index) {
  const size_t i = static_cast<size_t>(buffer);
  return pool_.Address(buffer, bases_[i], SizeOf(kernel_.buffers[i].dtype), index);
}

// What every base's alignment and the factors of the index prove. An operand or a result may be a
// part of a larger buffer, so its base is only as aligned as its elements.
uint64_t MemoryEmitter::AlignmentOf(ir::BufferId buffer, const Affine& index) const {
  const ir::Buffer& declared = kernel_.buffers[static_cast<size_t>(buffer)];
  if (declared.scope == ir::Scope::kIn || declared.scope == ir::Scope::kOut) {
    return static_cast<uint64_t>(SizeOf(declared.dtype));
  }
  return OffsetAlignment(buffer, index);
}

uint64_t MemoryEmitter::OffsetAlignment(ir::BufferId buffer, const Affine& index) const {
  const ir::Buffer& declared = kernel_.buffers[static_cast<size_t>(buffer)];
  int64_t factors = index.constant;
  for (const Term& term : index.terms) factors = std::gcd(factors, term.factor);
  const int64_t bytes = factors * SizeOf(declared.dtype);
  if (bytes == 0) return kBaseAlign;
  const uint64_t low_bit = static_cast<uint64_t>(bytes) & (~static_cast<uint64_t>(bytes) + 1);
  return std::min(kBaseAlign, low_bit);
}

Value* MemoryEmitter::MaskOf(const Access& access) {
  if (access.lanes > 1) return pool_.LaneMask(access.active, access.lanes);
  Value* active = b_.CreateICmpSGT(pool_.ValueOf(access.active), b_.getInt64(0));
  return b_.CreateVectorSplat(1, active);
}

// Constant offsets in 32 bits keep the index vector narrow.
Value* MemoryEmitter::LaneAddresses(const Access& access) {
  const size_t i = static_cast<size_t>(access.buffer);
  const int64_t element = SizeOf(kernel_.buffers[i].dtype);
  std::vector<uint64_t> offsets(static_cast<size_t>(access.lanes));
  for (size_t lane = 0; lane < offsets.size(); ++lane) {
    offsets[lane] = lane * static_cast<uint64_t>(access.stride * element);
  }
  Value* lanes = llvm::ConstantDataVector::get(b_.getContext(), offsets);
  return b_.CreateGEP(b_.getInt8Ty(), AddressOf(access.buffer, access.index), lanes);
}

// Elements a few apart: the vectors they lie in, the last one up to the last element, and a shuffle
// for each but the first. A gather takes more than one cycle a lane.
Value* MemoryEmitter::LoadPicked(const Access& access) {
  const int lanes = access.lanes;
  const int stride = static_cast<int>(access.stride);
  Value* picked = nullptr;
  for (int k = 0; k < stride; ++k) {
    const bool last = k + 1 == stride;
    const Access piece{access.buffer,
                       Sum(access.index, Constant(int64_t{k} * lanes)),
                       1,
                       lanes,
                       Constant(lanes - stride + 1),
                       last};
    Value* const vector = Load(piece);
    if (k == 0) {
      picked = vector;
      continue;
    }
    std::vector<int> from(static_cast<size_t>(lanes), -1);
    for (int lane = 0; lane < lanes; ++lane) {
      const int element = lane * stride;
      int& source = from[static_cast<size_t>(lane)];
      if (element / lanes < k) source = k == 1 ? element : lane;
      if (element / lanes == k) source = lanes + element % lanes;
    }
    picked = b_.CreateShuffleVector(picked, vector, from);
  }
  return picked;
}

Value* MemoryEmitter::LoadStrided(const Access& access) {
  const DType dtype = kernel_.buffers[static_cast<size_t>(access.buffer)].dtype;
  llvm::Type* type = MemoryType(b_.getContext(), dtype, access.lanes);
  const bool fills = access.lanes * SizeOf(dtype) * 8 == features_.vector_bits;
  if (!access.masked && fills && SizeOf(dtype) == 4 && features_.vector_bits == 512 &&
      access.stride >= 2 && access.stride <= kMaxPickedStride) {
    return LoadPicked(access);
  }
  const bool gathers = features_.gather && SizeOf(dtype) >= 4;
  if (access.masked || gathers) {
    Value* mask = access.masked ? MaskOf(access) : nullptr;
    return Tag(b_.CreateMaskedGather(type, LaneAddresses(access),
                                     llvm::Align(static_cast<uint64_t>(SizeOf(dtype))), mask,
                                     llvm::Constant::getNullValue(type)),
               access.buffer);
  }
  Value* vector = llvm::PoisonValue::get(type);
  for (int lane = 0; lane < access.lanes; ++lane) {
    const Access one{access.buffer, Sum(access.index, Constant(lane * access.stride)), 1, 1, {},
                     false};
    vector = b_.CreateInsertElement(vector, Load(one), static_cast<uint64_t>(lane));
  }
  return vector;
}

Value* MemoryEmitter::Load(const Access& access) {
  const DType dtype = kernel_.buffers[static_cast<size_t>(access.buffer)].dtype;
  llvm::Type* type = MemoryType(b_.getContext(), dtype, access.lanes);
  if (access.masked && access.active.IsConstant() && access.active.constant <= 0) {
    return llvm::Constant::getNullValue(type);
  }
  if (access.lanes > 1 && access.stride == 0) {
    Access one = access;
    one.lanes = 1;
    Value* splat = b_.CreateVectorSplat(static_cast<unsigned>(access.lanes), Load(one));
    if (!access.masked) return splat;
    return b_.CreateSelect(MaskOf(access), splat, llvm::Constant::getNullValue(type));
  }
  if (access.lanes > 1 && access.stride != 1) return LoadStrided(access);
  const llvm::Align align(AlignmentOf(access.buffer, access.index));
  Value* address = AddressOf(access.buffer, access.index);
  if (!access.masked) return Tag(b_.CreateAlignedLoad(type, address, align), access.buffer);
  llvm::Type* vector = access.lanes > 1 ? type : llvm::FixedVectorType::get(type, 1);
  Value* value = Tag(b_.CreateMaskedLoad(vector, address, align, MaskOf(access),
                                         llvm::Constant::getNullValue(vector)),
                     access.buffer);
  return access.lanes > 1 ? value : b_.CreateExtractElement(value, uint64_t{0});
}

void MemoryEmitter::StoreStrided(const Access& access, Value* value) {
  const int64_t element = SizeOf(kernel_.buffers[static_cast<size_t>(access.buffer)].dtype);
  if (access.masked) {
    Tag(b_.CreateMaskedScatter(value, LaneAddresses(access), *ElementAlign(element),
                               MaskOf(access)),
        access.buffer);
    return;
  }
  for (int lane = 0; lane < access.lanes; ++lane) {
    const Access one{access.buffer, Sum(access.index, Constant(lane * access.stride)), 1, 1, {},
                     false};
    Store(one, b_.CreateExtractElement(value, static_cast<uint64_t>(lane)), false);
  }
}

// In parts of powers of two, the largest first: some cores are slow at masked stores of 256 bits.
void MemoryEmitter::StoreLeading(const Access& access, Value* value, int64_t count) {
  int64_t at = 0;
  while (at < count) {
    const auto lanes = static_cast<int>(std::bit_floor(static_cast<uint64_t>(count - at)));
    const Access part{access.buffer, Sum(access.index, Constant(at)), 1, lanes, {}, false};
    if (lanes == 1) {
      Store(part, b_.CreateExtractElement(value, static_cast<uint64_t>(at)), false);
    } else {
      std::vector<int> from(static_cast<size_t>(lanes));
      std::iota(from.begin(), from.end(), static_cast<int>(at));
      Store(part, b_.CreateShuffleVector(value, from), false);
    }
    at += lanes;
  }
}

void MemoryEmitter::Store(const Access& access, Value* value, bool streaming) {
  if (access.masked && access.active.IsConstant() && access.active.constant <= 0) return;
  if (access.lanes > 1 && access.stride != 1) return StoreStrided(access, value);
  if (access.masked && access.lanes > 1 && access.active.IsConstant() &&
      features_.vector_bits < 512) {
    return StoreLeading(access, value, std::min<int64_t>(access.active.constant, access.lanes));
  }
  const uint64_t alignment = AlignmentOf(access.buffer, access.index);
  Value* address = AddressOf(access.buffer, access.index);
  if (access.masked) {
    if (access.lanes == 1) value = b_.CreateVectorSplat(1, value);
    Tag(b_.CreateMaskedStore(value, address, llvm::Align(alignment), MaskOf(access)),
        access.buffer);
    return;
  }
  const uint64_t vector_bytes = static_cast<uint64_t>(features_.vector_bits) / 8;
  if (streaming && access.lanes > 1 &&
      OffsetAlignment(access.buffer, access.index) >= vector_bytes) {
    return StoreStreaming(access, value, address);
  }
  Tag(b_.CreateAlignedStore(value, address, llvm::Align(alignment)), access.buffer);
}

// Only an aligned vector may bypass the caches: the instruction traps on others. The offset is
// aligned, so the base decides, once for all stores of a kernel.
void MemoryEmitter::StoreStreaming(const Access& access, Value* value, Value* address) {
  const uint64_t vector_bytes = static_cast<uint64_t>(features_.vector_bits) / 8;
  llvm::LLVMContext& context = b_.getContext();
  llvm::BasicBlock* const bypass = llvm::BasicBlock::Create(context, "bypass", &function_);
  llvm::BasicBlock* const cached = llvm::BasicBlock::Create(context, "cached", &function_);
  llvm::BasicBlock* const after = llvm::BasicBlock::Create(context, "after", &function_);
  Value* const base =
      b_.CreatePtrToInt(bases_[static_cast<size_t>(access.buffer)], b_.getInt64Ty());
  Value* const rest = b_.CreateAnd(base, b_.getInt64(vector_bytes - 1));
  b_.CreateCondBr(b_.CreateICmpEQ(rest, b_.getInt64(0)), bypass, cached);
  b_.SetInsertPoint(bypass);
  llvm::StoreInst* const store = b_.CreateAlignedStore(value, address, llvm::Align(vector_bytes));
  llvm::Metadata* const one = llvm::ConstantAsMetadata::get(b_.getInt32(1));
  store->setMetadata(llvm::LLVMContext::MD_nontemporal, llvm::MDNode::get(context, one));
  Tag(store, access.buffer);
  b_.CreateBr(after);
  b_.SetInsertPoint(cached);
  const auto element =
      static_cast<uint64_t>(SizeOf(kernel_.buffers[static_cast<size_t>(access.buffer)].dtype));
  Tag(b_.CreateAlignedStore(value, address, llvm::Align(element)), access.buffer);
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
}

}  // namespace mlc::codegen
