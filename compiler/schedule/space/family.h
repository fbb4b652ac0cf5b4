// A family: a way to generate kernels for a class of workloads. It is a builder of kernel IR: every
// fused pointwise prologue and epilogue, on every target, goes through the same IR. Families are
// stateless, thread-safe and listed once, in compiler/backend/cpu_families.cc or
// compiler/schedule/cuda/families.cc. A change that alters the kernels of a config raises the
// version: records of other versions are not used.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "compiler/graph/workload.h"
#include "compiler/ir/ir.h"
#include "compiler/ir/limit_loops.h"
#include "compiler/schedule/space/config.h"
#include "compiler/schedule/space/space.h"
#include "compiler/target/target.h"

namespace mlc::schedule {

// The binding of one parameter of a kernel.
struct Binding {
  enum class Kind : uint8_t { kOperand, kOutput, kPrepared };
  Kind kind = Kind::kOperand;
  int index = 0;  // of Workload::operands(), Workload::outputs() or LoweredKernel::preparations
};

// A constant derived from weights once, at compile time (packing, Winograd transform): a kernel
// whose parameters are the named operands, in order, followed by the prepared buffer.
struct Preparation {
  ir::Kernel kernel;
  std::vector<int> operands;  // weights, indices into Workload::operands()
  DType dtype = DType::kF32;
  int64_t elements = 0;
};

struct LoweredKernel {
  ir::Kernel kernel;
  std::vector<Binding> bindings;  // parallel to kernel.params
  std::vector<Preparation> preparations;
  // Loops that a run for fewer rows may end early.
  std::vector<ir::RowLoop> row_loops = {};
};

// The properties of a config, computed without lowering it: the inputs of the analytic model and of
// the features. Bytes are per execution, over all threads; 0 if a quantity does not apply.
struct KernelFacts {
  double flops = 0;          // executed, with padding waste
  double useful_flops = 0;   // of the workload
  double lane_fill = 1;      // useful lanes over executed lanes
  double accumulators = 0;   // independent FMA chains
  double loads_per_fma = 0;  // vector loads and broadcasts issued per vector FMA
  double inner_trip = 0;     // iterations of the innermost loop
  double l1_bytes = 0;       // moved L1 -> registers
  double l2_bytes = 0;       // moved L2 -> L1
  double l3_bytes = 0;       // moved L3 -> L2
  double dram_bytes = 0;     // moved DRAM -> L3, when nothing is resident
  double l1_set_bytes = 0;   // working set of the innermost reused block
  double l2_set_bytes = 0;   // working set of the next block
  double scratch_bytes = 0;  // written and read again by the kernel itself
  double parallel_chunks = 1;
  double imbalance = 1;      // longest thread's share over the mean
  double phases = 1;         // fork-join rounds
  double body_ops = 0;       // vector instructions of the largest straight-line body
  double special_flops = 0;  // exp, tanh, erf, div, sqrt
  // GPU kernels: sums over the launches, or of the launch that takes longest where noted. The bytes
  // above mean shared memory -> registers (l1), global -> shared memory through L2 (l2) and DRAM.
  double tensor_flops = 0;      // of `flops`, those on matrix units
  double tensor_rate = 1;       // of matrix units, over what mma.sync makes of them
  double blocks = 0;            // longest launch
  double block_threads = 0;     // longest launch
  double block_bytes = 0;       // on-chip memory of one block, longest launch
  double registers = 0;         // estimate per thread, longest launch
  double waves = 0;             // blocks over the blocks that the device holds at once
  double warp_parallelism = 0;  // warps of one multiprocessor, on average
  double pipeline_steps = 0;    // iterations of the staged loop of one block
  double cycles = 0;            // of the launch, where the family counts them itself; else 0
};

// A workload that a family has opened for a target. It derives the consequences of the shapes once
// for any number of configs. Borrows the workload, the target and the family. Immutable,
// thread-safe.
class Problem {
 public:
  virtual ~Problem() = default;
  virtual Space MakeSpace() const = 0;
  // kNone if the config is legal; cheap (below 5 us), no allocation on the common path.
  virtual RejectReason Check(const Config& config) const = 0;
  virtual KernelFacts Facts(const Config& config) const = 0;
  // A good config without any search: what a build without a log uses.
  virtual Config Default() const = 0;
  // The default among the points of a part of the space; it may be illegal if none is legal.
  // Families without layout_knobs() do not look at the part.
  virtual Config DefaultIn(const Space&) const { return Default(); }
  // REQUIRES Check() == kNone; an error is a bug of the family and names it.
  virtual Result<LoweredKernel> Lower(const Config& config) const = 0;
  // The same, to be limited (ir::LimitLoops): runs for a part of the rows do little beyond them. If
  // a loop needs its limit and has none, Lower is to be called instead.
  virtual Result<LoweredKernel> LowerForRows(const Config& config) const { return Lower(config); }
};

class Family {
 public:
  virtual ~Family() = default;
  virtual std::string_view name() const = 0;
  virtual int version() const = 0;
  // The knobs that alone decide, for given columns, how a kernel has its constants prepared, so
  // that kernels for other rows can read them. Empty: not known.
  virtual std::vector<std::string_view> layout_knobs() const { return {}; }
  // True if the family has at least one kernel for the workload on the target.
  virtual bool Accepts(const graph::Workload& workload, const target::Target& target) const = 0;
  // Never null if Accepts(); null if the workload is not of the family's kind.
  virtual std::unique_ptr<const Problem> Open(const graph::Workload& workload,
                                              const target::Target& target) const = 0;

  // For a single query about a workload: opens it and calls the function of Problem. All but Check,
  // which may return kUnsupported, REQUIRE Accepts().
  Space MakeSpace(const graph::Workload& workload, const target::Target& target) const;
  RejectReason Check(const graph::Workload& workload, const target::Target& target,
                     const Config& config) const;
  KernelFacts Facts(const graph::Workload& workload, const target::Target& target,
                    const Config& config) const;
  Config Default(const graph::Workload& workload, const target::Target& target) const;
  Result<LoweredKernel> Lower(const graph::Workload& workload, const target::Target& target,
                              const Config& config) const;
};

// Every family, in order of preference for Default.
std::span<const Family* const> Families();
// The family of that name, or null.
const Family* FindFamily(std::string_view name);
// Families that accept the workload, in order of preference.
std::vector<const Family*> FamiliesFor(const graph::Workload& workload,
                                       const target::Target& target);
// Finds the family, rejects an unknown family or another version, checks and lowers the config.
Result<LoweredKernel> LowerConfig(const graph::Workload& workload, const target::Target& target,
                                  const Config& config);
// The same with a limit (ir::LimitLoops) wherever it has loops for one. `row_elements`: by output
// of the workload.
Result<LoweredKernel> LowerLimited(const graph::Workload& workload, const target::Target& target,
                                   const Config& config, std::span<const int64_t> row_elements);

}  // namespace mlc::schedule
