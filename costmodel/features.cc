#include "costmodel/features.h"

#include <array>
#include <cmath>
#include <cstddef>
#include <utility>
#include <variant>

#include "base/check.h"

namespace mlc::costmodel {
namespace {

using In = FeatureInput;

double Log(double x) { return std::log2(std::max(x, 1e-9)); }
double LogOnePlus(double x) { return std::log2(1 + std::max(x, 0.0)); }

double Share(double part, const In& in) { return part / std::max(1.0, in.estimate.total_ns); }

double PerFlop(double bytes, const In& in) {
  return Log(std::max(1.0, bytes) / std::max(1.0, in.facts.useful_flops));
}

// What a feature divides by: the registers, caches and processors of the target. A GPU has no
// vector registers, L1 or threads of a CPU; its units are constants, which models of GPUs are
// trained with.
struct Units {
  double registers, l1_bytes, l2_bytes, threads, sms, block_bytes;
};

Units UnitsOf(const target::CpuTarget& cpu) {
  return {static_cast<double>(cpu.vector_registers()),
          static_cast<double>(cpu.l1_bytes),
          static_cast<double>(cpu.l2_bytes),
          static_cast<double>(cpu.threads),
          1,
          1};
}

Units UnitsOf(const target::GpuTarget& gpu) {
  return {16,
          32768,
          static_cast<double>(gpu.l2_bytes),
          1,
          static_cast<double>(gpu.sms),
          static_cast<double>(gpu.block_bytes)};
}

Units UnitsOf(const In& in) {
  return std::visit([](const auto& kind) { return UnitsOf(kind); }, in.target.device);
}

double SecondCaches(const In& in) { return UnitsOf(in).l2_bytes * UnitsOf(in).threads; }

double Chunks(const In& in) { return std::max(1.0, in.facts.parallel_chunks); }

constexpr auto kKernelFeatures = std::to_array<Feature>({
    // The workload
    {"flops", "log2", "operations asked for", [](const In& in) { return Log(in.problem.flops); }},
    {"min_bytes", "log2 bytes", "operands and outputs, each once",
     [](const In& in) { return Log(in.problem.min_bytes); }},
    {"intensity", "log2 1/byte", "operations per byte",
     [](const In& in) { return Log(in.problem.flops / in.problem.min_bytes); }},
    {"batches", "log2", "independent products",
     [](const In& in) { return Log(in.problem.batches); }},
    {"rows", "log2", "output pixels, or rows", [](const In& in) { return Log(in.problem.rows); }},
    {"columns", "log2", "output channels, or columns",
     [](const In& in) { return Log(in.problem.columns); }},
    {"depth", "log2", "reduced elements of one tap",
     [](const In& in) { return Log(in.problem.depth); }},
    {"taps", "log2", "taps of the window", [](const In& in) { return Log(in.problem.taps); }},
    {"stride", "1", "stride of the window", [](const In& in) { return in.problem.stride; }},
    {"fused", "1", "pointwise operators", [](const In& in) { return in.problem.fused; }},
    {"operands", "1", "operands", [](const In& in) { return in.problem.operands; }},
    // What the config implies
    {"waste", "ratio", "operations executed over asked for",
     [](const In& in) { return in.facts.flops / std::max(1.0, in.facts.useful_flops); }},
    {"lane_fill", "ratio", "useful lanes", [](const In& in) { return in.facts.lane_fill; }},
    {"accumulators", "1", "independent FMA chains",
     [](const In& in) { return in.facts.accumulators; }},
    {"register_share", "ratio", "accumulators over registers",
     [](const In& in) { return in.facts.accumulators / UnitsOf(in).registers; }},
    {"loads_per_fma", "1", "loads and broadcasts for each FMA",
     [](const In& in) { return in.facts.loads_per_fma; }},
    {"inner_trip", "log2", "iterations of the innermost loop",
     [](const In& in) { return Log(in.facts.inner_trip); }},
    {"body_ops", "log2", "vector instructions of the largest body",
     [](const In& in) { return LogOnePlus(in.facts.body_ops); }},
    {"special_share", "ratio", "special operations over all",
     [](const In& in) { return in.facts.special_flops / std::max(1.0, in.facts.flops); }},
    {"l1_traffic", "log2 byte", "from L1, for each operation",
     [](const In& in) { return PerFlop(in.facts.l1_bytes, in); }},
    {"l2_traffic", "log2 byte", "from L2, for each operation",
     [](const In& in) { return PerFlop(in.facts.l2_bytes, in); }},
    {"l3_traffic", "log2 byte", "from L3, for each operation",
     [](const In& in) { return PerFlop(in.facts.l3_bytes, in); }},
    {"dram_traffic", "log2 byte", "from memory, for each operation",
     [](const In& in) { return PerFlop(in.facts.dram_bytes, in); }},
    {"l1_set", "log2 ratio", "innermost reused block over L1",
     [](const In& in) { return Log((1 + in.facts.l1_set_bytes) / UnitsOf(in).l1_bytes); }},
    {"l2_set", "log2 ratio", "next block over L2",
     [](const In& in) { return Log((1 + in.facts.l2_set_bytes) / UnitsOf(in).l2_bytes); }},
    {"footprint", "log2 ratio", "operands and outputs over all L2",
     [](const In& in) { return Log(in.problem.min_bytes / SecondCaches(in)); }},
    {"scratch", "ratio", "own intermediate bytes over operands and outputs",
     [](const In& in) { return in.facts.scratch_bytes / in.problem.min_bytes; }},
    {"chunks", "log2", "chunks for each thread",
     [](const In& in) { return Log(Chunks(in) / UnitsOf(in).threads); }},
    {"chunk_flops", "log2", "operations of a chunk",
     [](const In& in) { return Log(in.facts.flops / Chunks(in)); }},
    {"imbalance", "ratio", "longest thread over the mean",
     [](const In& in) { return in.facts.imbalance; }},
    {"phases", "1", "fork-join rounds", [](const In& in) { return in.facts.phases; }},
    // GPU kernels; zero elsewhere
    {"tensor_share", "ratio", "operations on matrix units over all",
     [](const In& in) { return in.facts.tensor_flops / std::max(1.0, in.facts.flops); }},
    {"blocks", "log2", "blocks for each multiprocessor",
     [](const In& in) { return Log(std::max(1.0, in.facts.blocks) / UnitsOf(in).sms); }},
    {"waves", "log2", "blocks over what the device holds at once",
     [](const In& in) { return LogOnePlus(in.facts.waves); }},
    {"tail", "ratio", "share of the last wave that is idle",
     [](const In& in) { return std::ceil(in.facts.waves) - in.facts.waves; }},
    {"block_threads", "log2", "threads of a block",
     [](const In& in) { return LogOnePlus(in.facts.block_threads); }},
    {"shared_memory", "ratio", "on-chip memory of a block over the most it may have",
     [](const In& in) { return in.facts.block_bytes / UnitsOf(in).block_bytes; }},
    {"registers", "1", "registers of a thread", [](const In& in) { return in.facts.registers; }},
    {"warps", "1", "warps of a multiprocessor",
     [](const In& in) { return in.facts.warp_parallelism; }},
    {"steps", "log2", "steps of a block's staged loop",
     [](const In& in) { return LogOnePlus(in.facts.pipeline_steps); }},
    // The analytic model
    {"estimate", "log2 ns", "the estimate", [](const In& in) { return Log(in.estimate.total_ns); }},
    {"compute_share", "ratio", "arithmetic over the estimate",
     [](const In& in) { return Share(in.estimate.compute_ns, in); }},
    {"l1_share", "ratio", "L1 over the estimate",
     [](const In& in) { return Share(in.estimate.l1_ns, in); }},
    {"l2_share", "ratio", "L2 over the estimate",
     [](const In& in) { return Share(in.estimate.l2_ns, in); }},
    {"l3_share", "ratio", "L3 over the estimate",
     [](const In& in) { return Share(in.estimate.l3_ns, in); }},
    {"overhead_share", "ratio", "fork-join and chunks over the estimate",
     [](const In& in) { return Share(in.estimate.overhead_ns, in); }},
});

// The knobs, in the family's order: log2(1 + value), -1 where there is none.
struct KnobName {
  std::string_view name;
  std::string_view meaning;
};
constexpr auto kKnobNames = std::to_array<KnobName>({
    {"knob0", "first knob"},
    {"knob1", "second knob"},
    {"knob2", "third knob"},
    {"knob3", "fourth knob"},
    {"knob4", "fifth knob"},
    {"knob5", "sixth knob"},
    {"knob6", "seventh knob"},
    {"knob7", "eighth knob"},
    {"knob8", "ninth knob"},
    {"knob9", "tenth knob"},
    {"knob10", "eleventh knob"},
    {"knob11", "twelfth knob"},
    {"knob12", "thirteenth knob"},
    {"knob13", "fourteenth knob"},
    {"knob14", "fifteenth knob"},
    {"knob15", "sixteenth knob"},
});
static_assert(kKnobNames.size() == kKnobSlots);

template <size_t kSlot>
double Knob(const In& in) {
  if (kSlot >= in.config.knobs.size()) return -1;
  const auto value = static_cast<double>(in.config.knobs[kSlot].second);
  return value < 0 ? value : LogOnePlus(value);
}

template <size_t... kRows, size_t... kSlots>
constexpr auto Join(std::index_sequence<kRows...> /*rows*/,
                    std::index_sequence<kSlots...> /*slots*/) {
  return std::to_array<Feature>(
      {kKernelFeatures[kRows]...,
       Feature{kKnobNames[kSlots].name, "log2", kKnobNames[kSlots].meaning, Knob<kSlots>}...});
}
constexpr auto kFeatures = Join(std::make_index_sequence<kKernelFeatures.size()>(),
                                std::make_index_sequence<kKnobSlots>());

}  // namespace

std::span<const Feature> Features() { return kFeatures; }

Digest FeatureSchema() {
  return DigestOf(FeatureTable() + "analytic " + std::to_string(kAnalyticVersion));
}

void ComputeFeatures(const FeatureInput& input, std::span<float> out) {
  MLC_CHECK(out.size() == kFeatures.size()) << "one float for each feature";
  MLC_CHECK(input.config.knobs.size() <= kKnobSlots)
      << input.config.family << " has more knobs than features.cc has slots";
  for (size_t i = 0; i < kFeatures.size(); ++i) {
    out[i] = static_cast<float>(kFeatures[i].value(input));
  }
}

std::string FeatureTable() {
  std::string text =
      "# Features of a kernel\n\nThe table in `features.cc`; a test keeps this file in step.\n\n"
      "| name | unit | meaning |\n|---|---|---|\n";
  for (const Feature& feature : kFeatures) {
    text += "| " + std::string(feature.name) + " | " + std::string(feature.unit) + " | " +
            std::string(feature.meaning) + " |\n";
  }
  return text;
}

}  // namespace mlc::costmodel
