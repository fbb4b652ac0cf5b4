// Random contractions whose operands allow wide copies: channels, rows or columns in multiples of
// 8, channels-last images, batches, and reductions long enough to split. Texts of workloads.
#pragma once

#include <string>

#include "base/rng.h"

namespace mlc::schedule {

// `attributes`: of the product, such as "precision=tf32"; may be empty.
std::string AlignedProduct(Rng& rng, const std::string& dtype, const std::string& attributes);
std::string AlignedConvolution(Rng& rng, const std::string& dtype, const std::string& attributes);
// Channels that tensor copies take tap by tap, and steps up to 3 from one position to the next.
std::string WideConvolution(Rng& rng, const std::string& dtype, const std::string& attributes);
// 3x3, with edges of whole tiles of 8 x 8 positions.
std::string EvenConvolution(Rng& rng, const std::string& dtype, const std::string& attributes);
// Several tiles of any size in each direction, and long reductions.
std::string LargeProduct(Rng& rng, const std::string& dtype, const std::string& attributes);
// As a network begins: one to four channels, a window of 3 to 7, stride 1 or 2, channels last or
// first.
std::string ImageConvolution(Rng& rng, const std::string& dtype, const std::string& attributes);
// Up to 8 rows, and columns that are constant.
std::string SkinnyProduct(Rng& rng, const std::string& dtype);
// Rows and columns of float8, scaled and cast to `dtype`, large enough for warpgroups.
std::string Float8Product(Rng& rng, const std::string& dtype);
// The same with a scale for each 128 of a row and for each 128 of k of some columns.
std::string Float8Blocks(Rng& rng, const std::string& dtype);
// Up to 16 rows of a type of 16 bits, and columns of 2, 4 or 8 bits in blocks.
std::string FewBitsProduct(Rng& rng, const std::string& dtype);
// The same with columns of float8.
std::string PackedFloat8Product(Rng& rng, const std::string& dtype);

}  // namespace mlc::schedule
