// A variant of a model (model_variants.h) with its kernels, and which one is built: the one that is
// faster by what was measured. Thread-safe (no shared state).
#pragma once

#include <string>
#include <vector>

#include "compiler/graph/program.h"
#include "compiler/package/library.h"

namespace mlc::client {

struct Variant {
  graph::Program program;
  std::vector<package::Choice> choices;  // one a task
  std::string difference;                // ModelVariant::difference
};

// All executions of all tasks together, as measured; 0 if a task's kernel was not itself measured.
double MeasuredNs(const Variant& variant);

// `usual`, unless `other` is measured in all its tasks and is plainly faster, or the usual one is
// not measured in all of them.
Variant Faster(Variant usual, Variant other);
// For people: why it is not the usual variant, which takes `usual_ns` (0: not measured); empty if
// it is.
std::string NoteOn(const Variant& chosen, double usual_ns);

}  // namespace mlc::client
