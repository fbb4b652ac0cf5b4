// The printers of one statement's expressions, as scalars and as lanes of vectors. Not thread-safe;
// borrows its arguments.
#pragma once

#include <initializer_list>

#include "compiler/codegen/cuda/lanes.h"
#include "compiler/codegen/cuda/scalar_operators.h"
#include "compiler/codegen/cuda/scalars.h"
#include "compiler/codegen/cuda/vector_memory.h"

namespace mlc::codegen {

struct Expressions {
  Expressions(PhaseScope& scope, PhaseText& text)
      : operators(scope.functions, scope.kernel.approximate),
        scalars(scope, text, operators,
                [this](const ir::ReduceLanes& reduce) { return lanes.Reduce(reduce); }),
        memory(scope, text, scalars),
        lanes(scope, text, operators, scalars, memory) {}
  Expressions(const Expressions&) = delete;
  Expressions& operator=(const Expressions&) = delete;

  // Begins a new statement with these expressions.
  void Begin(std::initializer_list<ir::ExprRef> expressions) {
    scalars.Begin(expressions);
    lanes.Forget();
  }

  ScalarOperators operators;
  ScalarPrinter scalars;
  VectorMemory memory;
  LanePrinter lanes;
};

}  // namespace mlc::codegen
