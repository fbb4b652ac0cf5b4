// Prints collective statements of threads, and asynchronous copies. Not thread-safe; borrows its
// arguments.
#pragma once

#include <set>
#include <vector>

#include "compiler/codegen/cuda/async_statements.h"
#include "compiler/codegen/cuda/expressions.h"
#include "compiler/codegen/cuda/phase_scope.h"
#include "compiler/codegen/cuda/phase_text.h"

namespace mlc::codegen {

class WarpStatementPrinter {
 public:
  WarpStatementPrinter(PhaseScope& scope, PhaseText& text, Expressions& expressions)
      : scope_(scope),
        text_(text),
        expressions_(expressions),
        scalars_(expressions.scalars),
        async_(scope, text, expressions) {}

  void Print(const ir::Sync& sync);
  void Print(const ir::CopyAsync& copy);
  void Print(const ir::LoadMatrix& load);
  void Print(const ir::LoadPeer& load);
  void Print(const ir::Unpack& unpack);
  void Print(const ir::Mma& mma);
  void Print(const ir::WarpgroupMma& mma);
  void Print(const ir::Arrive& arrive);
  template <typename Statement>
  void Print(const Statement& statement) {
    async_.Print(statement);
  }

 private:
  void AwaitInputs();
  void WaitProducts(int pending);
  void SetRegisters(int count);

  PhaseScope& scope_;
  PhaseText& text_;
  Expressions& expressions_;
  ScalarPrinter& scalars_;
  AsyncStatementPrinter async_;
  std::vector<std::set<ir::BufferId>> products_;  // registers of each warpgroup_mma so far
};

}  // namespace mlc::codegen
