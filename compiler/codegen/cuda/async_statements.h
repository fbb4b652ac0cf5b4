// Mbarriers and the copies that arrive at them. Not thread-safe; borrows its arguments.
#pragma once

#include <string>

#include "compiler/codegen/cuda/expressions.h"
#include "compiler/codegen/cuda/phase_scope.h"
#include "compiler/codegen/cuda/phase_text.h"

namespace mlc::codegen {

class AsyncStatementPrinter {
 public:
  AsyncStatementPrinter(PhaseScope& scope, PhaseText& text, Expressions& expressions)
      : scope_(scope), text_(text), expressions_(expressions), scalars_(expressions.scalars) {}

  void Print(const ir::MbarrierInit& init);
  void Print(const ir::MbarrierArrive& arrive);
  void Print(const ir::MbarrierWait& wait);
  void Print(const ir::CopyBulk& copy);
  void Print(const ir::CopyTensor& copy);

 private:
  std::string Ranks(const ir::ExprRef& ranks);  // the last argument, or none

  PhaseScope& scope_;
  PhaseText& text_;
  Expressions& expressions_;
  ScalarPrinter& scalars_;
};

}  // namespace mlc::codegen
