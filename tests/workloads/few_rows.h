// Random products of few rows that compute more than an epilogue, and updates of caches with what
// their kernels compute beside them: parts of a decoder's step. Texts of workloads.
#pragma once

#include <string>

#include "base/rng.h"
#include "tests/workloads/random_workload.h"

namespace mlc::schedule {

// Up to 4 rows, which may be an RMS norm of an operand, and constant columns, whose halves a gate
// may combine; one of both at least. `is_packed`: columns of 2, 4 or 8 bits.
std::string FewRowsProduct(Rng& rng, const std::string& dtype, bool is_packed);
// The same with columns of float8.
std::string FewRowsOfFloat8(Rng& rng, const std::string& dtype);
// A scatter of computed updates, some with another one, most with pointwise results beside it.
RandomWorkload RandomCacheUpdate(Rng& rng);

}  // namespace mlc::schedule
