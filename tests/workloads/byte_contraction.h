// Random products of u8 and i8 whose operands allow wide copies, with what follows them in a
// network of 8 bits. What they store is exact whatever the order of sums. Texts of workloads.
#pragma once

#include <string>

#include "base/rng.h"

namespace mlc::schedule {

// Up to 600 rows; columns that are constant or lie along k.
std::string ByteProduct(Rng& rng);
// Channels last and in multiples of 4, windows up to 3 x 3.
std::string ByteConvolution(Rng& rng);
// As a network begins: four channels and a window of 3 to 7.
std::string ByteImageConvolution(Rng& rng);

}  // namespace mlc::schedule
