// Rows of an index space: a flat number taken apart into coordinates.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/ir/build.h"

namespace mlc::schedule {

// Sets at[d] for every d of `order` (outermost first; sizes dims[d]) from the flat index `row`.
void SetRow(ir::KernelBuilder& builder, ir::ExprRef row, const std::vector<int>& order,
            const std::vector<int64_t>& dims, std::vector<ir::ExprRef>& at);

// Product of dims[d] over `order`.
int64_t RowCount(const std::vector<int>& order, const std::vector<int64_t>& dims);

}  // namespace mlc::schedule
