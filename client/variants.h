// A model may be compiled in variants: products of one value merged into one kernel
// (merge_siblings), or apart. Which is faster is a matter of measurement, so the log decides.
// Thread-safe (no shared state).
#pragma once

#include <string>
#include <vector>

#include "compiler/graph/program.h"
#include "compiler/package/library.h"

namespace mlc::client {

// The pass without which products stay apart.
inline constexpr char kMergePass[] = "merge_siblings";

struct Variant {
  graph::Program program;
  std::vector<package::Choice> choices;  // one a task
  std::string note;                      // for people: why not the usual one; empty: it is
};

// All executions of all tasks together, as measured; 0 if a task's kernel was not itself measured.
double MeasuredNs(const Variant& variant);

// The usual variant, unless `apart` is measured in all its tasks and is faster, or the usual one is
// not measured in all of them.
Variant Faster(Variant usual, Variant apart);

}  // namespace mlc::client
