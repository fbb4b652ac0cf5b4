// Gives a kernel a limit: loops over rows of its results end at the rows that a call needs. Pure;
// thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "compiler/ir/ir.h"

namespace mlc::ir {

// Iterations that the chunks of a parallel loop divide evenly: chunk c of `chunks` runs those from
// units * c / chunks on.
struct RowShare {
  ExprRef chunk;  // c
  int64_t chunks = 1;
  int64_t units = 0;  // of all loops together
};

// A serial loop whose iteration i writes results from row origin + i * rows on, and nothing else
// that is read outside of it. Where it goes over parts of rows, it counts those: `rows` and
// `origin` are parts, of which `parts` make a row.
struct RowLoop {
  VarId var = -1;
  int64_t rows = 1;
  int64_t origin = 0;
  // Of loops that follow each other: whichever chunk runs an iteration, it computes the same, also
  // from what the same iteration of another such loop has written. None: all chunks run all.
  std::optional<RowShare> share = std::nullopt;
  // Its own iterations.
  int64_t begin = 0;
  int64_t end = 0;
  int64_t parts = 1;
  // Where several loops share the iterations, by how many of its rows an iteration needs: this one
  // runs those that need more than `above`, and at most `most` of them; 0: however many.
  int64_t above = 0;
  int64_t most = 0;
  // Rows of the results, which the iterations themselves may exceed; 0: they do not.
  int64_t total = 0;

  // Without a limit the kernel would run iterations several times, or beyond the results.
  bool needs_limit() const { return above > 0 || most > 0 || total > 0; }
};

// Loops whose rows are not those of the results stay as they are; the kernel itself, if all do.
// Where all loops are over rows, chunks divide the iterations that a call needs evenly. Where not
// all are, and one needs a limit, the kernel that is returned has none: it is not to be run.
// `row_elements`: as StoredRows (stored_rows.h) takes them.
Kernel LimitLoops(Kernel kernel, std::span<const RowLoop> loops,
                  std::span<const int64_t> row_elements);

}  // namespace mlc::ir
