// Prints the scalars of one statement: an expression becomes text; a value that is used twice
// becomes a constant, which is printed first. Not thread-safe; borrows its arguments.
#pragma once

#include <functional>
#include <initializer_list>
#include <unordered_map>

#include "compiler/codegen/cuda/phase_scope.h"
#include "compiler/codegen/cuda/phase_text.h"
#include "compiler/codegen/cuda/scalar_operators.h"

namespace mlc::codegen {

class ScalarPrinter {
 public:
  // Prints the loop over lanes and returns the scalar that holds the result.
  using Reduction = std::function<Text(const ir::ReduceLanes&)>;

  ScalarPrinter(PhaseScope& scope, PhaseText& text, ScalarOperators& operators, Reduction reduction)
      : scope_(scope), text_(text), operators_(operators), reduction_(std::move(reduction)) {}

  // Forgets the values of the previous statement and counts uses in this one.
  void Begin(std::initializer_list<ir::ExprRef> expressions);
  bool IsReused(const ir::ExprRef& e) const;

  Text Scalar(const ir::ExprRef& e);
  // The memory form of this scalar, without a conversion to the rounded value.
  Text StorageOf(const ir::ExprRef& e);

  Text Place(ir::BufferId buffer, const ir::ExprRef& index);  // "&buffer[index]"
  // "&registers[...]" of register `index`, from array element `offset` of it on.
  Text RegisterPlace(ir::BufferId buffer, const ir::ExprRef& index, int offset = 0);
  // The array element at which register `index` begins.
  Text RegisterBase(const ir::Buffer& buffer, const ir::ExprRef& index);

 private:
  void CountUses(const ir::ExprRef& e);
  Text Node(const ir::Expr& e);
  Text Load(const ir::Load& load);
  Text Apply(const ir::Expr& e, const ir::Apply& apply);
  Text Cast(const ir::Expr& e, const ir::Cast& cast);
  Text Element(ir::BufferId buffer, const Text& index) const;  // "buffer[index]"

  PhaseScope& scope_;
  PhaseText& text_;
  ScalarOperators& operators_;
  const Reduction reduction_;
  std::unordered_map<const ir::Expr*, int> uses_;
  std::unordered_map<const ir::Expr*, Text> ready_;
};

}  // namespace mlc::codegen
