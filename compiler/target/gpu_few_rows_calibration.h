// What products of a few rows cost on a GPU, which read columns at the rate of memory: calibration
// data of the estimates that choose their default configs. In clock cycles, if nothing else is
// said. Values.
#pragma once

namespace mlc::target {

// Of columns of floats.
struct GpuSkinnyCalibration {
  double bytes;           // per cycle, of one multiprocessor
  double memory_latency;  // bytes in flight during it bound the rate
  double row_work;        // instructions per row for each instruction of a load
  double start;
  double row_start;   // of each element of a row, by one thread
  double end;         // of a block,
  double output_end;  // and of each output
  double arrive_latency;
  double cluster_latency;
  // Of blocks whose columns are all under way before they wait for rows, in a step of a decoder:
  double head_start;  // in which columns arrive
  double beside;      // for one on each multiprocessor, which the launches beside it lack
};

// Of weights of few bits, which warps decode. Fitted to 290 configs of 11 products on an
// H200 (docs/data/gpu_few_bits_configs.json) and to norms in products
// (docs/benchmarks/gpu-decode.md).
struct GpuFewBitsCalibration {
  double bytes;             // per cycle, of one multiprocessor
  double memory_latency;    // bytes in flight during it bound the rate
  double group_latency;     // that a group of loads waits for beyond the first
  double fragment_work;     // instructions of a warp for a fragment of 16 weights,
  double row_work;          // and for each eight rows that it is multiplied by
  double fragment_latency;  // of a warp from fragment to fragment, which nothing of it hides,
  double row_latency;       // and for each eight rows after the first
  double overlap;           // share of the shorter of reading and decoding that is not hidden
  double start;
  double row_start;   // of eight elements of a row, by one thread
  double norm_start;  // of a norm: two barriers and shuffles,
  double norm_row;    // and eight elements
  double end;         // of a block
  double next_block;  // share of start and end that blocks after the first do not hide
  double arrive_latency;
  double cluster_latency;
};

}  // namespace mlc::target
