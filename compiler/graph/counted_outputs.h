// Outputs whose shape depends on data: the graph gives them room for the most elements that there
// may be, the first of which a run has. Values; pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "compiler/graph/graph.h"

namespace mlc::graph {

// A length: base + the sum of factors[d] * count d, `most` at most.
struct CountedLength {
  int64_t most = 0;
  int64_t base = 0;
  std::vector<int64_t> factors;  // one a count

  int64_t At(std::span<const int64_t> counts) const;
  friend bool operator==(const CountedLength&, const CountedLength&) = default;
};

// What a model says of its outputs.
struct CountedOutputs {
  int64_t count = 0;  // of the counts, which the last output holds, i64[count]; 0: there are none
  std::vector<std::vector<CountedLength>> lengths;  // by other output, by axis

  friend bool operator==(const CountedOutputs&, const CountedOutputs&) = default;
};

// What a run gives, from the results of a graph: the other outputs, with the elements that there
// are. REQUIRES: the results are those of a graph that `counted` is about.
std::vector<TensorDataRef> CutOutputs(const CountedOutputs& counted,
                                      std::vector<TensorDataRef> results);

}  // namespace mlc::graph
