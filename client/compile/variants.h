// A variant of a model (model_variants.h) with its kernels, and the choice between two: the one
// that is faster by measurements. Thread-safe (no shared state).
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

// The measured time of all executions of all tasks, in ns; 0 if a chosen config was not measured
// itself.
double MeasuredNs(const Variant& variant);

// Returns `other` if all its tasks are measured and it is clearly faster, or if not all tasks of
// `usual` are measured. Otherwise returns `usual`.
Variant Faster(Variant usual, Variant other);
// A note for the user why the choice is not the usual variant, which takes `usual_ns` (0: not
// measured). Empty if it is.
std::string NoteOn(const Variant& chosen, double usual_ns);

}  // namespace mlc::client
