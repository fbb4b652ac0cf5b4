// merge_scales: what is computed of codes and of sums of bytes takes one multiplication and
// addition each. Before: the passes of the list have run. After:
//   - factors and terms that are added one after the other to the sums of a product of bytes are
//     one fma; so are those of what is rounded, which may also be a sum of two tensors of codes;
//   - sums from which a zero point's part was subtracted are subtracted from in floats, if these
//     hold them exactly.
// Results differ from those before by roundings of single precision; what decodes codes alone stays
// as it is, because its zeros are exact.
#pragma once

#include "compiler/graph/graph.h"

namespace mlc::graph {

Result<bool> MergeScales(Graph& graph);

}  // namespace mlc::graph
