// Prints the statements of a phase. If the text of a statement needs other values first (vector
// loads, reductions over lanes, values used twice), it prints these as statements. Not thread-safe;
// borrows its arguments.
#pragma once

#include "compiler/codegen/cuda/expressions.h"
#include "compiler/codegen/cuda/warp_statements.h"

namespace mlc::codegen {

class StatementPrinter {
 public:
  StatementPrinter(PhaseScope& scope, PhaseText& text)
      : scope_(scope), text_(text), expressions_(scope, text), warps_(scope, text, expressions_) {}

  void Print(const ir::Stmt& stmt);

 private:
  void Do(const ir::Block& block);
  void Do(const ir::For& loop);
  void Do(const ir::If& branch);
  void Do(const ir::Let& let);
  void Do(const ir::Store& store);
  void Do(const ir::Prefetch& prefetch);
  void Do(const ir::RegisterTranspose&) {}  // no kernel of threads has one
  template <typename Statement>
  void Do(const Statement& statement) {
    warps_.Print(statement);
  }
  void StoreRegister(const ir::Store& store);
  void StoreScalar(const ir::Store& store);
  void StoreVector(const ir::Store& store);

  PhaseScope& scope_;
  PhaseText& text_;
  Expressions expressions_;
  WarpStatementPrinter warps_;
};

}  // namespace mlc::codegen
