// A convolution of an image, and a config of it read as decisions. Values.
//
// A block computes `th` rows of `tw` results for `bn` filters. Its part of the image lies in shared
// memory, a pixel's channels side by side and zeros outside of the image, so that the taps of a
// kernel's row are one run of elements. The runs of all rows, in octets of elements, are k.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/graph/workload.h"
#include "compiler/schedule/space/config.h"
#include "compiler/schedule/space/space.h"
#include "compiler/target/target.h"

namespace mlc::schedule {

struct ImageAxis {
  int64_t in = 1, out = 1, taps = 1, stride = 1, pad = 0;
};

struct ImageProblem {
  graph::ValueId anchor = graph::kNoValue;
  graph::ValueId image = graph::kNoValue;  // computed from operands; before its last rounding
  int filter_operand = 0;
  DType dtype = DType::kF16;
  int64_t batch = 1, channels = 1, filters = 1;
  ImageAxis y, x;
  bool guest = false;        // the epilogue reads a tensor as large as the results
  bool zero_outside = true;  // the image of zeros is zero
  int64_t stored = 1;        // channels of a pixel in shared memory
  int pixels = 1;            // neighbours in a row that a thread loads at a time
  int lanes = 1;             // filters that a thread stores at a time
  double image_bytes = 0;    // of what the image is computed from

  bool narrow() const { return SizeOf(dtype) == 2; }
  // Pixels before the first tap, so that loads begin at multiples of `pixels`.
  int64_t Shift() const { return (pixels - x.pad % pixels) % pixels; }
  // Elements before the run, so that it begins at a multiple of four bytes.
  int64_t Lead() const { return narrow() ? Shift() * stored % 2 : 0; }
  int64_t RowOctets() const { return (x.taps * stored + Lead() + 7) / 8; }
  int64_t Octets() const { return y.taps * RowOctets(); }
  // Of products with 16 of k, of f32 with 8.
  int64_t Steps() const { return narrow() ? (Octets() + 1) / 2 : Octets(); }
};

// Nothing for any other workload.
std::optional<ImageProblem> FindImage(const graph::Workload& workload);

struct ImagePlan {
  int across = 1, down = 1;  // warps of a block along columns and rows of results,
  int over = 1;              // and along filters
  int rows = 1;              // of 16 results each, of a warp
  int bn = 32;
  bool guest = false;
  int64_t rows_in = 1, vectors = 1, pitch = 8;  // of the image's tile
  int64_t tiles_x = 1, tiles_y = 1, tiles_n = 1;

  int tw() const { return 16 * across; }
  int th() const { return rows * down; }
  int threads() const { return 32 * across * down * over; }
  int column_tiles() const { return bn / over / 8; }  // of a warp
  int registers() const {
    return rows * column_tiles() * 4 + rows * 4 + column_tiles() * 2 + (guest ? 86 : 46);
  }
  int64_t filter_elements(const ImageProblem& p) const {
    return p.Steps() * (p.narrow() ? 16 : 8) * bn;
  }
  int64_t tile_elements() const { return rows_in * pitch; }
  int64_t block_bytes(const ImageProblem& p) const {
    return (filter_elements(p) + tile_elements()) * SizeOf(p.dtype);
  }
  int64_t blocks(const ImageProblem& p) const { return p.batch * tiles_x * tiles_y * tiles_n; }
};

ImagePlan MakeImagePlan(const ImageProblem& p, const Config& config);
RejectReason CheckImagePlan(const ImageProblem& p, const target::Target& target,
                            const ImagePlan& plan);
// Blocks that a multiprocessor holds at once.
int ResidentBlocks(const ImageProblem& p, const target::Target& target, const ImagePlan& plan);

}  // namespace mlc::schedule
