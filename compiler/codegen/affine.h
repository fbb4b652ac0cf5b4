// Index arithmetic as sums of constant * atom + constant, and where its run-time part is computed.
// An atom is a run-time i64: a loop variable, a hoisted division, or a value loaded in place. Every
// atom belongs to the scope (a loop body or a branch) in which it is defined; a sum is computed at
// the start of the innermost scope that one of its atoms belongs to and kept there. So no sum is
// computed twice or in a deeper loop than needed, and constants become displacements of memory
// operands. Not thread-safe; one pool serves one function.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "compiler/types/scalar_op.h"

namespace llvm {
class IRBuilderBase;
class Instruction;
class Type;
class Value;
}  // namespace llvm

namespace mlc::codegen {

struct Term {
  int atom = 0;
  int64_t factor = 0;
  friend auto operator<=>(const Term&, const Term&) = default;
};

struct Affine {
  int64_t constant = 0;
  std::vector<Term> terms;  // by increasing atom, factors not zero
  bool IsConstant() const { return terms.empty(); }
  friend auto operator<=>(const Affine&, const Affine&) = default;
};

Affine Constant(int64_t value);
Affine Sum(const Affine& a, const Affine& b);
Affine Scaled(const Affine& a, int64_t factor);

class IndexPool {
 public:
  explicit IndexPool(llvm::IRBuilderBase& builder) : builder_(builder) {}

  // Opens a scope at the builder's position; its kept values are computed there.
  void OpenScope();
  void CloseScope();

  // A value that exists at the start of the innermost scope, such as its loop variable.
  Affine AtScopeStart(llvm::Value* value);
  // A value that exists from the builder's position on; sums with it are computed where they are
  // used.
  Affine Here(llvm::Value* value);
  // kAdd, kSub, kMul, kDiv and kMod (both towards negative infinity), kMin, kMax.
  Affine Apply(ScalarOp op, const Affine& a, const Affine& b);

  // The sum as an i64.
  llvm::Value* ValueOf(const Affine& sum);
  // base + sum * element_bytes; `buffer` names the base.
  llvm::Value* Address(int buffer, llvm::Value* base, int64_t element_bytes, const Affine& sum);
  // <lanes x i1>: lane < sum. REQUIRES: lanes > 1.
  llvm::Value* LaneMask(const Affine& sum, int lanes);

 private:
  struct Atom {
    llvm::Value* value;
    int depth;
  };
  struct Scope {
    llvm::Instruction* end_of_kept;  // a placeholder; kept values stand before it
    std::map<std::vector<Term>, llvm::Value*> sums;
    std::map<std::tuple<int, int64_t, std::vector<Term>>, llvm::Value*> addresses;
    std::map<std::pair<int, Affine>, llvm::Value*> masks;
    std::map<std::tuple<ScalarOp, Affine, Affine>, int> operations;
  };
  static constexpr int kHereDepth = 1 << 30;

  int DepthOf(const std::vector<Term>& terms) const;
  int NewAtom(llvm::Value* value, int depth);
  // Splits off the terms of the deepest scope.
  std::vector<Term> TakeDeepest(std::vector<Term>* terms) const;
  llvm::Value* EmitTerms(llvm::Value* sum, const std::vector<Term>& terms, int64_t scale);
  llvm::Value* SumOf(const std::vector<Term>& terms);
  llvm::Value* AddressOf(int buffer, llvm::Value* base, int64_t element_bytes,
                         std::vector<Term> terms);
  Affine Opaque(ScalarOp op, const Affine& a, const Affine& b);
  llvm::Value* EmitOperation(ScalarOp op, llvm::Value* a, llvm::Value* b);

  llvm::IRBuilderBase& builder_;
  std::vector<Scope> scopes_;
  std::vector<Atom> atoms_;
};

}  // namespace mlc::codegen
