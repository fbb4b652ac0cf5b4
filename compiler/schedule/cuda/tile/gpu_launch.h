// Shared code of the families for GPUs: the beginning of a launch, the results that allow
// approximate functions, and the figures of a launch. Thread-safe.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include "compiler/ir/build.h"
#include "compiler/schedule/space/family.h"

namespace mlc::schedule::gpu {

inline ir::ExprRef Do(ScalarOp op, ir::ExprRef a) { return ir::MakeApply(op, {std::move(a)}); }
inline ir::ExprRef Do(ScalarOp op, ir::ExprRef a, ir::ExprRef b) {
  return ir::MakeApply(op, {std::move(a), std::move(b)});
}
inline ir::ExprRef Less(ir::ExprRef a, ir::ExprRef b) {
  return Do(ScalarOp::kLess, std::move(a), std::move(b));
}
// The value with `lanes` lanes; broadcasts a scalar.
ir::ExprRef Widened(const ir::ExprRef& value, int lanes);

// Lets the next launch start early, then waits for the results of earlier ones.
void BeginLaunch(ir::KernelBuilder& builder);

// True if every output is f16 or bf16.
bool AllNarrow(const graph::Workload& workload);

struct LaunchShape {
  double blocks = 1;
  double threads = 32;     // of a block
  double block_bytes = 0;  // shared memory
  double registers = 32;   // of a thread, an estimate
};

// Fills in the GPU fields of the facts and the imbalance of the last wave.
void SetLaunch(const target::Target& target, const LaunchShape& shape, KernelFacts& facts);

// Registers per thread if a multiprocessor holds this many blocks at once.
int RegistersLeft(int threads, int blocks);

double OutputBytes(const graph::Workload& workload);
// Flops of pointwise operators that take more than one instruction.
double SpecialFlops(const graph::Workload& workload);

// The largest value of `domain` that is at most `wanted`, or its first value.
int64_t AtMost(const std::vector<int64_t>& domain, int64_t wanted);
// The config of the space with the least cost. `cost` is empty for configs that are not generated;
// if all are, the result is the first point of the space.
Config Cheapest(const Space& space,
                const std::function<std::optional<double>(const Config&)>& cost);
void SetKnob(const Space& space, Config& config, std::string_view knob, int64_t wanted);

}  // namespace mlc::schedule::gpu
