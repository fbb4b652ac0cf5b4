// Gives a kernel a limit: loops over rows of its results end at the rows that a call needs. Pure;
// thread-safe.
#pragma once

#include <cstdint>
#include <span>

#include "compiler/ir/ir.h"

namespace mlc::ir {

// A serial loop whose iteration i writes results from row origin + i * rows on, and nothing else
// that is read outside of it.
struct RowLoop {
  VarId var = -1;
  int64_t rows = 1;
  int64_t origin = 0;
};

// Loops whose rows are not those of the results stay as they are; the kernel itself, if all do.
// `row_elements`: as StoredRows (stored_rows.h) takes them.
Kernel LimitLoops(Kernel kernel, std::span<const RowLoop> loops,
                  std::span<const int64_t> row_elements);

}  // namespace mlc::ir
