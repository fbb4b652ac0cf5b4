// A workload: what one task computes, as canonical text with shapes, layouts, types and tolerance.
// The same text is the same workload everywhere; its digest is the key in the log, in caches and on
// the wire. It is a graph whose sources are input(), weight() and splat constants; names, weights'
// values and tensor data are not part of it. Values are numbered in a canonical order (sources in
// order of first use by a depth-first walk from the outputs), so equal fragments give equal texts.
//
//   workload v1 tolerance=1e-04 {
//     %0 = input() : f32[1,64,56,56]{200704,1,3584,64}
//     %1 = weight() : f32[64,64,3,3]
//     ...
//     return %7
//   }
#pragma once

#include <string>
#include <string_view>

#include "base/digest.h"
#include "base/status.h"
#include "compiler/graph/graph.h"

namespace mlc::graph {

class Workload {
 public:
  // `tolerance`: largest admissible |difference| over the largest |reference| of an output; 0: no
  // approximate algorithm, while sums may be made in any order. Spaces use it to admit algorithms
  // (Winograd), workers to check results. INVALID_ARGUMENT if a value carries tensor data or the
  // graph does not verify. `renumbering`, if given, maps ids of `graph` to ids of the workload
  // (kNoValue where no output needs the value).
  static Result<Workload> Create(Graph graph, double tolerance,
                                 std::vector<ValueId>* renumbering = nullptr);
  static Result<Workload> Parse(std::string_view text);

  const Graph& graph() const { return graph_; }
  double tolerance() const { return tolerance_; }
  const std::string& ToText() const { return text_; }
  const Digest& digest() const { return digest_; }
  // Sources that a kernel binds, kInput and kWeight, in order of id: operand i of the kernel.
  const std::vector<ValueId>& operands() const { return operands_; }
  const std::vector<ValueId>& outputs() const { return graph_.outputs(); }
  // Multiply-adds count two; each scalar operator by its table row.
  double Flops() const;
  // Bytes of all operands and outputs, each once.
  double MinBytes() const;
  // One short line for people: "conv 3x3 64->64 56x56 s1 +add +relu".
  std::string Summary() const;

 private:
  Graph graph_;
  double tolerance_ = 1e-4;
  std::string text_;
  Digest digest_;
  std::vector<ValueId> operands_;
};

}  // namespace mlc::graph
