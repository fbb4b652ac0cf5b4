// Depthwise convolutions on a GPU: a thread computes a tile of neighbouring outputs of a vector of
// channels. It reads each input row of the tile once into registers, slides the windows of the tile
// over it, and keeps a small filter in registers. Thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "compiler/schedule/space/family.h"

namespace mlc::schedule::gpu {

struct SpatialAxis {
  int dim = -1;  // of the output; -1 where the convolution has fewer dimensions
  int64_t in = 1;
  int64_t out = 1;
  int64_t taps = 1;
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t pad = 0;  // before

  // The number of inputs that `outputs` neighbouring outputs span.
  int64_t Span(int64_t outputs) const { return (outputs - 1) * stride + (taps - 1) * dilation + 1; }
};

struct DepthwiseProblem {
  graph::ValueId anchor = 0;
  int64_t batch = 1;
  int64_t channels = 1;
  std::array<SpatialAxis, 3> axes;  // depth, height, width
  int lanes = 1;                    // the widest vector of channels
  bool channels_inner = false;
  int filter_operand = 0;
  bool constant_filter = false;

  int64_t Taps() const { return axes[0].taps * axes[1].taps * axes[2].taps; }
};

struct DepthwisePlan {
  DepthwiseProblem problem;
  int lanes = 1;
  int tile_w = 1;
  int tile_h = 1;
  int threads = 128;

  int64_t Points() const;  // tiles in all
  bool KeepsFilter() const;
  int64_t Registers() const;  // of a thread, an estimate
};

std::optional<DepthwiseProblem> FindDepthwise(const graph::Workload& workload);

LoweredKernel LowerDepthwise(const graph::Workload& workload, const DepthwisePlan& plan);

}  // namespace mlc::schedule::gpu
