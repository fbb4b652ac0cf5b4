// Rows of an index space: splits a flat index into coordinates. Thread-safe (no state).
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/graph/graph.h"
#include "compiler/ir/build.h"
#include "compiler/target/target.h"

namespace mlc::schedule {

// Sets at[d] for every d of `order` (outermost first; sizes dims[d]) from the flat index `row`.
void SetRow(ir::KernelBuilder& builder, ir::ExprRef row, const std::vector<int>& order,
            const std::vector<int64_t>& dims, std::vector<ir::ExprRef>& at);

// Product of dims[d] over `order`.
int64_t RowCount(const std::vector<int>& order, const std::vector<int64_t>& dims);

// True if vectors of `lanes` along `column` fill a register and start at multiples of its size, as
// streaming stores require. `offset`: the first element of the tensor in its storage.
bool CanStream(const graph::TensorType& type, int column, int lanes, const target::Target& target,
               int64_t offset = 0);

}  // namespace mlc::schedule
