#include "compiler/codegen/affine.h"

#include <algorithm>
#include <optional>

#include "base/check.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"

namespace mlc::codegen {

namespace {

// Moves the builder to where a scope keeps its values, and back.
class AtKept {
 public:
  AtKept(llvm::IRBuilderBase& builder, llvm::Instruction* where) : guard_(builder) {
    if (where != nullptr) builder.SetInsertPoint(where);
  }

 private:
  llvm::IRBuilderBase::InsertPointGuard guard_;
};

int64_t FloorDiv(int64_t a, int64_t b) {
  const int64_t q = a / b;
  return q * b != a && (a < 0) != (b < 0) ? q - 1 : q;
}

bool IsPowerOfTwo(int64_t value) { return value > 0 && (value & (value - 1)) == 0; }

std::optional<int64_t> FoldConstants(ScalarOp op, int64_t a, int64_t b) {
  switch (op) {
    case ScalarOp::kMin:
      return std::min(a, b);
    case ScalarOp::kMax:
      return std::max(a, b);
    case ScalarOp::kDiv:
      if (b == 0) return std::nullopt;
      return FloorDiv(a, b);
    case ScalarOp::kMod:
      if (b == 0) return std::nullopt;
      return a - FloorDiv(a, b) * b;
    default:
      return std::nullopt;
  }
}

// The part of `sum` whose factors are multiples of `divisor`, divided by it; the rest stays.
Affine TakeMultiples(Affine* sum, int64_t divisor) {
  Affine quotient;
  Affine rest;
  for (const Term& term : sum->terms) {
    if (term.factor % divisor == 0) {
      quotient.terms.push_back({term.atom, term.factor / divisor});
    } else {
      rest.terms.push_back(term);
    }
  }
  quotient.constant = FloorDiv(sum->constant, divisor);
  rest.constant = sum->constant - quotient.constant * divisor;
  *sum = std::move(rest);
  return quotient;
}

}  // namespace

Affine Constant(int64_t value) { return {value, {}}; }

Affine Sum(const Affine& a, const Affine& b) {
  Affine sum{a.constant + b.constant, {}};
  size_t i = 0;
  size_t j = 0;
  while (i < a.terms.size() || j < b.terms.size()) {
    if (j == b.terms.size() || (i < a.terms.size() && a.terms[i].atom < b.terms[j].atom)) {
      sum.terms.push_back(a.terms[i++]);
    } else if (i == a.terms.size() || b.terms[j].atom < a.terms[i].atom) {
      sum.terms.push_back(b.terms[j++]);
    } else {
      const int64_t factor = a.terms[i].factor + b.terms[j].factor;
      if (factor != 0) sum.terms.push_back({a.terms[i].atom, factor});
      ++i;
      ++j;
    }
  }
  return sum;
}

Affine Scaled(const Affine& a, int64_t factor) {
  if (factor == 0) return Constant(0);
  Affine scaled = a;
  scaled.constant *= factor;
  for (Term& term : scaled.terms) term.factor *= factor;
  return scaled;
}

void IndexPool::OpenScope() {
  llvm::Constant* zero = builder_.getInt64(0);
  llvm::Instruction* marker = llvm::BinaryOperator::CreateAdd(zero, zero);
  builder_.Insert(marker);
  scopes_.push_back({marker, {}, {}, {}, {}});
}

void IndexPool::CloseScope() {
  scopes_.back().end_of_kept->eraseFromParent();
  scopes_.pop_back();
}

int IndexPool::NewAtom(llvm::Value* value, int depth) {
  atoms_.push_back({value, depth});
  return static_cast<int>(atoms_.size()) - 1;
}

Affine IndexPool::AtScopeStart(llvm::Value* value) {
  return {0, {{NewAtom(value, static_cast<int>(scopes_.size()) - 1), 1}}};
}

Affine IndexPool::Here(llvm::Value* value) {
  if (const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(value)) {
    return Constant(constant->getSExtValue());
  }
  return {0, {{NewAtom(value, kHereDepth), 1}}};
}

int IndexPool::DepthOf(const std::vector<Term>& terms) const {
  int depth = 0;
  for (const Term& term : terms) depth = std::max(depth, atoms_[term.atom].depth);
  return depth;
}

std::vector<Term> IndexPool::TakeDeepest(std::vector<Term>* terms) const {
  const int depth = DepthOf(*terms);
  std::vector<Term> taken;
  std::vector<Term> rest;
  for (const Term& term : *terms) {
    (atoms_[term.atom].depth == depth ? taken : rest).push_back(term);
  }
  *terms = std::move(rest);
  return taken;
}

llvm::Value* IndexPool::EmitTerms(llvm::Value* sum, const std::vector<Term>& terms, int64_t scale) {
  for (const Term& term : terms) {
    llvm::Value* value = atoms_[term.atom].value;
    const int64_t factor = term.factor * scale;
    if (factor != 1) value = builder_.CreateMul(value, builder_.getInt64(factor));
    sum = sum == nullptr ? value : builder_.CreateAdd(sum, value);
  }
  return sum;
}

llvm::Value* IndexPool::SumOf(const std::vector<Term>& terms) {
  const int depth = DepthOf(terms);
  const bool kept = depth != kHereDepth;
  if (kept) {
    if (auto it = scopes_[depth].sums.find(terms); it != scopes_[depth].sums.end()) {
      return it->second;
    }
  }
  std::vector<Term> outer = terms;
  const std::vector<Term> inner = TakeDeepest(&outer);
  llvm::Value* sum = outer.empty() ? nullptr : SumOf(outer);
  AtKept at(builder_, kept ? scopes_[depth].end_of_kept : nullptr);
  sum = EmitTerms(sum, inner, 1);
  if (kept) scopes_[depth].sums.emplace(terms, sum);
  return sum;
}

llvm::Value* IndexPool::ValueOf(const Affine& sum) {
  if (sum.IsConstant()) return builder_.getInt64(sum.constant);
  llvm::Value* value = SumOf(sum.terms);
  return sum.constant == 0 ? value : builder_.CreateAdd(value, builder_.getInt64(sum.constant));
}

llvm::Value* IndexPool::AddressOf(int buffer, llvm::Value* base, int64_t element_bytes,
                                  std::vector<Term> terms) {
  if (terms.empty()) return base;
  const int depth = DepthOf(terms);
  const bool kept = depth != kHereDepth;
  const auto key = std::make_tuple(buffer, element_bytes, terms);
  if (kept) {
    if (auto it = scopes_[depth].addresses.find(key); it != scopes_[depth].addresses.end()) {
      return it->second;
    }
  }
  const std::vector<Term> inner = TakeDeepest(&terms);
  llvm::Value* outer = AddressOf(buffer, base, element_bytes, terms);
  AtKept at(builder_, kept ? scopes_[depth].end_of_kept : nullptr);
  llvm::Value* offset = EmitTerms(nullptr, inner, element_bytes);
  llvm::Value* address = builder_.CreateGEP(builder_.getInt8Ty(), outer, offset);
  if (kept) scopes_[depth].addresses.emplace(key, address);
  return address;
}

llvm::Value* IndexPool::Address(int buffer, llvm::Value* base, int64_t element_bytes,
                                const Affine& sum) {
  llvm::Value* address = AddressOf(buffer, base, element_bytes, sum.terms);
  if (sum.constant == 0) return address;
  return builder_.CreateGEP(builder_.getInt8Ty(), address,
                            builder_.getInt64(sum.constant * element_bytes));
}

llvm::Value* IndexPool::LaneMask(const Affine& sum, int lanes) {
  const int depth = DepthOf(sum.terms);
  const bool kept = depth != kHereDepth;
  const auto key = std::make_pair(lanes, sum);
  if (kept) {
    if (auto it = scopes_[depth].masks.find(key); it != scopes_[depth].masks.end()) {
      return it->second;
    }
    if (!sum.IsConstant()) SumOf(sum.terms);  // stands before the mask
  }
  AtKept at(builder_, kept ? scopes_[depth].end_of_kept : nullptr);
  llvm::Value* active = ValueOf(sum);
  active = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, active, builder_.getInt64(0));
  active = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, active, builder_.getInt64(lanes));
  active = builder_.CreateTrunc(active, builder_.getInt32Ty());
  std::vector<uint32_t> index(static_cast<size_t>(lanes));
  for (size_t i = 0; i < index.size(); ++i) index[i] = static_cast<uint32_t>(i);
  llvm::Value* lane = llvm::ConstantDataVector::get(builder_.getContext(), index);
  llvm::Value* mask = builder_.CreateICmpSLT(
      lane, builder_.CreateVectorSplat(static_cast<unsigned>(lanes), active));
  if (kept) scopes_[depth].masks.emplace(key, mask);
  return mask;
}

Affine IndexPool::Apply(ScalarOp op, const Affine& a, const Affine& b) {
  if (op == ScalarOp::kAdd) return Sum(a, b);
  if (op == ScalarOp::kSub) return Sum(a, Scaled(b, -1));
  if (op == ScalarOp::kMul) {
    if (b.IsConstant()) return Scaled(a, b.constant);
    if (a.IsConstant()) return Scaled(b, a.constant);
    return Opaque(op, a, b);
  }
  if (a.IsConstant() && b.IsConstant()) {
    if (auto folded = FoldConstants(op, a.constant, b.constant)) return Constant(*folded);
  }
  const bool divides = op == ScalarOp::kDiv || op == ScalarOp::kMod;
  if (!divides || !b.IsConstant() || b.constant <= 0) return Opaque(op, a, b);
  Affine rest = a;
  const Affine quotient = TakeMultiples(&rest, b.constant);
  if (op == ScalarOp::kDiv) {
    if (rest.IsConstant()) return quotient;
    return Sum(quotient, Opaque(op, rest, b));
  }
  return rest.IsConstant() ? rest : Opaque(op, rest, b);
}

Affine IndexPool::Opaque(ScalarOp op, const Affine& a, const Affine& b) {
  const bool divides = op == ScalarOp::kDiv || op == ScalarOp::kMod;
  int depth = std::max(DepthOf(a.terms), DepthOf(b.terms));
  // A divisor that may be zero is only reached where the program reaches it.
  if (divides && (!b.IsConstant() || b.constant == 0)) depth = kHereDepth;
  if (depth == kHereDepth) return Here(EmitOperation(op, ValueOf(a), ValueOf(b)));
  const auto key = std::make_tuple(op, a, b);
  if (auto it = scopes_[depth].operations.find(key); it != scopes_[depth].operations.end()) {
    return {0, {{it->second, 1}}};
  }
  if (!a.IsConstant()) SumOf(a.terms);
  if (!b.IsConstant()) SumOf(b.terms);
  AtKept at(builder_, scopes_[depth].end_of_kept);
  const int atom = NewAtom(EmitOperation(op, ValueOf(a), ValueOf(b)), depth);
  scopes_[depth].operations.emplace(key, atom);
  return {0, {{atom, 1}}};
}

llvm::Value* IndexPool::EmitOperation(ScalarOp op, llvm::Value* a, llvm::Value* b) {
  llvm::Value* zero = builder_.getInt64(0);
  if (op == ScalarOp::kMul) return builder_.CreateMul(a, b);
  if (op == ScalarOp::kMin) return builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, a, b);
  if (op == ScalarOp::kMax) return builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, a, b);
  MLC_CHECK(op == ScalarOp::kDiv || op == ScalarOp::kMod) << "not an index operator";
  const auto* divisor = llvm::dyn_cast<llvm::ConstantInt>(b);
  if (divisor != nullptr && IsPowerOfTwo(divisor->getSExtValue())) {
    const int64_t value = divisor->getSExtValue();
    if (op == ScalarOp::kMod) return builder_.CreateAnd(a, builder_.getInt64(value - 1));
    return builder_.CreateAShr(a, builder_.getInt64(__builtin_ctzll(static_cast<uint64_t>(value))));
  }
  llvm::Value* quotient = builder_.CreateSDiv(a, b);
  llvm::Value* rest = builder_.CreateSub(a, builder_.CreateMul(quotient, b));
  // The remainder has the sign of the dividend; where the divisor's differs, one step down.
  llvm::Value* differs = builder_.CreateICmpSLT(builder_.CreateXor(rest, b), zero);
  llvm::Value* inexact = builder_.CreateICmpNE(rest, zero);
  llvm::Value* down = builder_.CreateAnd(differs, inexact);
  if (op == ScalarOp::kDiv) {
    return builder_.CreateSub(quotient, builder_.CreateZExt(down, builder_.getInt64Ty()));
  }
  return builder_.CreateAdd(rest, builder_.CreateSelect(down, b, zero));
}

}  // namespace mlc::codegen
