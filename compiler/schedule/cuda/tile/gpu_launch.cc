#include "compiler/schedule/cuda/tile/gpu_launch.h"

#include <cmath>

#include "base/ceil_div.h"
#include "compiler/schedule/fusion/fused.h"

namespace mlc::schedule::gpu {

namespace {

// What one multiprocessor holds.
constexpr double kThreads = 2048;
constexpr double kBlocks = 32;
constexpr double kRegisters = 65536;
constexpr double kReservedBytes = 1024;  // of each block, by the driver

}  // namespace

ir::ExprRef Widened(const ir::ExprRef& value, int lanes) {
  return value->type.lanes == lanes ? value : ir::MakeBroadcast(value, lanes);
}

void BeginLaunch(ir::KernelBuilder& builder) {
  builder.ReleaseDependents();
  builder.AwaitInputs();
}

bool AllNarrow(const graph::Workload& workload) {
  return std::all_of(workload.outputs().begin(), workload.outputs().end(), [&](graph::ValueId id) {
    const DType dtype = workload.graph()[id].type.dtype;
    return dtype == DType::kF16 || dtype == DType::kBF16;
  });
}

void SetLaunch(const target::Target& target, const LaunchShape& shape, KernelFacts& facts) {
  double resident = std::min(kBlocks, std::floor(kThreads / shape.threads));
  resident = std::min(resident, std::floor(static_cast<double>(target.gpu().sm_bytes) /
                                           (shape.block_bytes + kReservedBytes)));
  resident = std::min(resident, std::floor(kRegisters / (shape.registers * shape.threads)));
  resident = std::max(resident, 1.0);
  const double sms = std::max(1, target.gpu().sms);
  facts.blocks = facts.parallel_chunks = shape.blocks;
  facts.block_threads = shape.threads;
  facts.block_bytes = shape.block_bytes;
  facts.registers = shape.registers;
  facts.waves = shape.blocks / (sms * resident);
  const double held = std::min(resident, std::ceil(shape.blocks / sms));
  facts.warp_parallelism = held * shape.threads / 32 * std::min(1.0, shape.blocks / (sms * held));
  facts.imbalance = std::ceil(facts.waves) / std::max(facts.waves, 1e-9);
  if (facts.waves <= 1) facts.imbalance = 1;
}

double OutputBytes(const graph::Workload& workload) {
  double bytes = 0;
  for (graph::ValueId output : workload.outputs()) {
    const graph::TensorType& type = workload.graph()[output].type;
    bytes += static_cast<double>(type.NumElements()) * SizeOf(type.dtype);
  }
  return bytes;
}

double SpecialFlops(const graph::Workload& workload) {
  double flops = 0;
  for (graph::ValueId id = 0; id < workload.graph().size(); ++id) {
    const graph::Value& node = workload.graph()[id];
    if (node.op != graph::Op::kPointwise) continue;
    const double each = InfoOf(node.scalar).flops;
    if (each > 2) flops += each * static_cast<double>(node.type.NumElements());
  }
  return flops;
}

int64_t AtMost(const std::vector<int64_t>& domain, int64_t wanted) {
  int64_t best = domain.front();
  for (int64_t value : domain) {
    if (value <= wanted && value > best) best = value;
  }
  return best;
}

int RegistersLeft(int threads, int blocks) {
  // Each quarter of the multiprocessor has its own, and hands them out to whole warps by the eight.
  constexpr int kQuarter = 16384;
  constexpr int kMax = 255;
  const auto warps = static_cast<int>(CeilDiv(int64_t{blocks} * CeilDiv(threads, 32), 4));
  return std::min(kMax, kQuarter / (32 * warps) / 8 * 8);
}

Config Cheapest(const Space& space,
                const std::function<std::optional<double>(const Config&)>& cost) {
  Config config = space.At(0);
  Config cheapest = config;
  std::optional<double> least;
  std::vector<size_t> place(space.knobs.size(), 0);
  for (int64_t rank = 0; rank < space.NumPoints(); ++rank) {
    const std::optional<double> here = cost(config);
    if (here && (!least || *here < *least)) {
      least = here;
      cheapest = config;
    }
    // To the next rank, in place.
    for (size_t i = place.size(); i-- > 0;) {
      const std::vector<int64_t>& domain = space.knobs[i].domain;
      place[i] = place[i] + 1 < domain.size() ? place[i] + 1 : 0;
      config.knobs[i].second = domain[place[i]];
      if (place[i] > 0) break;
    }
  }
  return cheapest;
}

void SetKnob(const Space& space, Config& config, std::string_view knob, int64_t wanted) {
  for (size_t i = 0; i < space.knobs.size(); ++i) {
    if (space.knobs[i].name == knob) config.knobs[i].second = AtMost(space.knobs[i].domain, wanted);
  }
}

}  // namespace mlc::schedule::gpu
