// Random contractions whose operands allow wide copies: channels, rows or columns in multiples of
// 8, channels-last images, batches, and reductions long enough to split. Texts of workloads.
#pragma once

#include <string>

#include "compiler/base/rng.h"

namespace mlc::schedule {

// `attributes`: of the product, such as "precision=tf32"; may be empty.
std::string AlignedProduct(Rng& rng, const std::string& dtype, const std::string& attributes);
std::string AlignedConvolution(Rng& rng, const std::string& dtype, const std::string& attributes);

}  // namespace mlc::schedule
