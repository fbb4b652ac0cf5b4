// Vectors of one statement, lane by lane, in an unrolled loop over `L` or, where that is short, in
// a statement for each lane. Not thread-safe; borrows its arguments.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>

#include "compiler/codegen/cuda/scalars.h"
#include "compiler/codegen/cuda/vector_memory.h"

namespace mlc::codegen {

class LanePrinter {
 public:
  LanePrinter(PhaseScope& scope, PhaseText& text, ScalarOperators& operators,
              ScalarPrinter& scalars, VectorMemory& memory)
      : scope_(scope), text_(text), operators_(operators), scalars_(scalars), memory_(memory) {}

  // What the previous statement computed.
  void Forget();
  // Prints what the lanes of `e` need; afterwards Lane gives lane L of it inside a Loop.
  void Prepare(const ir::ExprRef& e);
  Text Lane(const ir::ExprRef& e);
  void Loop(int begin, int end, const std::function<std::string()>& statement);
  // A new array of all lanes as they lie in memory, or the one that holds them.
  std::string StorageArray(const ir::ExprRef& e);
  // The lanes as words, into the array from element `first` on.
  void PackWords(const ir::ExprRef& e, const std::string& array, const Text& first);
  // The scalar that the lanes are reduced to.
  Text Reduce(const ir::ReduceLanes& reduce);

 private:
  // As StorageArray, as they are computed with.
  std::string Values(const ir::ExprRef& e);
  void Load(const ir::ExprRef& e, const ir::Load& load);
  Text Broadcasted(const ir::ExprRef& value);
  Text LaneOf(const std::string& array, const Text& first, const LaneArray& form, DType dtype);

  PhaseScope& scope_;
  PhaseText& text_;
  ScalarOperators& operators_;
  ScalarPrinter& scalars_;
  VectorMemory& memory_;
  std::unordered_map<const ir::Expr*, Text> ready_;       // lane L, valid in all its loops
  std::unordered_map<const ir::Expr*, Text> in_loop_;     // lane L, valid in this loop
  std::unordered_map<const ir::Expr*, std::string> raw_;  // arrays that hold a loaded vector
};

}  // namespace mlc::codegen
