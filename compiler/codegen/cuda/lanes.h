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

  // Forgets the values of the previous statement.
  void Forget();
  // Prints the statements that the lanes of `e` need. After that, Lane returns lane L of it inside
  // a Loop.
  void Prepare(const ir::ExprRef& e);
  Text Lane(const ir::ExprRef& e);
  void Loop(int begin, int end, const std::function<std::string()>& statement);
  // The array with all lanes of `e` in their memory form; prints a new one if needed.
  std::string StorageArray(const ir::ExprRef& e);
  // Packs the lanes as words into the array, from element `first` on.
  void PackWords(const ir::ExprRef& e, const std::string& array, const Text& first);
  // Reduces the lanes to a scalar.
  Text Reduce(const ir::ReduceLanes& reduce);

 private:
  // As StorageArray, but in the form for computations.
  std::string Values(const ir::ExprRef& e);
  // For packing: the low byte of each lane.
  std::string LowBytes(const ir::RoundedByte& rounded, int lanes);
  void Load(const ir::ExprRef& e, const ir::Load& load);
  Text Cast(const ir::Expr& e, const ir::Cast& cast);
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
