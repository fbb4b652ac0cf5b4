#include "worker/device/cpu/runner.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "base/steady_time.h"
#include "compiler/build/loaded_kernel.h"
#include "compiler/graph/physical/strided_data.h"
#include "worker/build/trial.h"
#include "worker/check/check.h"
#include "worker/device/cpu/trial_buffers.h"

namespace mlc::worker {
namespace {

using Kind = schedule::Binding::Kind;

constexpr int64_t kEvictBytes = int64_t{8} << 20;  // per thread
constexpr int64_t kClockIntervalNs = 300'000'000;
// A model uses each weight once per run: a last cache up to this size will have lost it by then.
constexpr int64_t kSmallLastCache = int64_t{64} << 20;
// So many times the second caches of the threads come from beyond them.
constexpr int64_t kSecondCaches = 6;

// Elements of an output that are not its own, between its strides, belong to others.
bool WritesBetweenStrides(const graph::TensorType& type, const std::byte* output) {
  const auto bytes = static_cast<size_t>(type.Extent() * SizeOf(type.dtype));
  if (type.Extent() == type.NumElements()) return false;
  std::vector<std::byte> copy(output, output + bytes);
  const std::vector<std::byte> poison(static_cast<size_t>(type.NumElements() * SizeOf(type.dtype)),
                                      std::byte{0xff});
  graph::ScatterStrided(poison.data(), type, copy.data());
  return std::any_of(copy.begin(), copy.end(), [](std::byte b) { return b != std::byte{0xff}; });
}

Result<std::unique_ptr<build::LoadedObject>> Load(const BuiltKernel& built) {
  const auto calls = built.is_c ? build::ObjectCalls::kMath : build::ObjectCalls::kNone;
  return build::LoadObject(built.object, calls);
}

}  // namespace

struct Runner::Loaded {
  struct Part {
    std::vector<mlc_phase> phases;
    std::vector<void*> buffers;
  };
  // A prepared buffer and where its copies go.
  struct Prepared {
    std::byte* original;
    int64_t bytes;
    std::vector<std::byte*> copies;
  };
  std::unique_ptr<build::LoadedObject> object;
  std::vector<Part> preparations;
  Part kernel;
  std::vector<std::byte*> outputs;
  std::vector<Prepared> prepared;
  // What other kernels of a network would have written: the outputs' memory, and the inputs, of
  // which timed executions get copies that can be written.
  struct Input {
    std::byte* original;
    std::byte* copy;
    int64_t bytes;
  };
  std::vector<Input> inputs;
  Spread spread;
  // The kernel's buffers, once for each copy of the prepared weights; executions take turns.
  std::vector<std::vector<void*>> turns;
  size_t next_turn = 0;

  void CopyPrepared(mlc_pool* pool);
  // From now on executions read the copies of the inputs.
  void TakeCopies();
  // Whether a kernel wrote to an input meanwhile.
  bool WroteInputs() const;
};

// Fills the copies, one thread each at a time, and makes the tables that use them.
void Runner::Loaded::CopyPrepared(mlc_pool* pool) {
  turns.assign(1, kernel.buffers);
  if (prepared.empty()) return;
  for (size_t copy = 0; copy < prepared[0].copies.size(); ++copy) {
    std::vector<void*> buffers = kernel.buffers;
    for (const Prepared& p : prepared) {
      std::replace(buffers.begin(), buffers.end(), static_cast<void*>(p.original),
                   static_cast<void*>(p.copies[copy]));
    }
    turns.push_back(std::move(buffers));
  }
  const auto fill = [](void* const* context, int64_t begin, int64_t end, int64_t) {
    for (const Prepared& p : *static_cast<const std::vector<Prepared>*>(context[0])) {
      for (int64_t copy = begin; copy < end; ++copy) {
        std::memcpy(p.copies[static_cast<size_t>(copy)], p.original, static_cast<size_t>(p.bytes));
      }
    }
  };
  void* const context[] = {&prepared};
  const mlc_phase phase = {fill, static_cast<int64_t>(prepared[0].copies.size())};
  mlc_run_phases(pool, &phase, 1, context);
}

void Runner::Loaded::TakeCopies() {
  for (const Input& input : inputs) {
    std::memcpy(input.copy, input.original, static_cast<size_t>(input.bytes));
    for (std::vector<void*>& buffers : turns) {
      std::replace(buffers.begin(), buffers.end(), static_cast<void*>(input.original),
                   static_cast<void*>(input.copy));
    }
  }
}

bool Runner::Loaded::WroteInputs() const {
  return std::any_of(inputs.begin(), inputs.end(), [](const Input& input) {
    return std::memcmp(input.copy, input.original, static_cast<size_t>(input.bytes)) != 0;
  });
}

int64_t RotationBytesFor(const target::Target& target) {
  // Every thread brings a cache of its own, and together those of many threads hold the weights of
  // whole networks.
  const int64_t beyond_own = target.cpu().threads * kSecondCaches * target.cpu().l2_bytes;
  const int64_t beyond_last = target.cpu().l3_bytes * 3 / 2;
  const int64_t wanted =
      target.cpu().l3_bytes > kSmallLastCache ? std::min(beyond_own, beyond_last) : beyond_last;
  return std::max(kMinRotationBytes, wanted);
}

Runner::Runner(int threads, const MachineProbe* probe, MachineState state)
    : threads_(threads), probe_(probe), state_(state), pool_(mlc_pool_create(threads, 1)) {
  PinToFirst();
}

int64_t Runner::MemoryFor(const RunTask& task, int threads) {
  constexpr int64_t kSpare = int64_t{1} << 30;
  int64_t buffers = 0;
  for (const int64_t bytes : SizesOf(task, threads)) buffers += bytes;
  int64_t comparing = 0;
  for (const graph::ValueId id : task.workload->outputs()) {
    comparing = std::max(comparing, ComparisonBytes(task.workload->graph()[id].type));
  }
  // Twice: what lies between the strides of outputs is copied to be looked at.
  return 2 * buffers + comparing + threads * kEvictBytes + kSpare;
}

Runner::~Runner() { mlc_pool_destroy(pool_); }

// What the caches near the cores cannot hold comes from elsewhere by itself.
void Runner::AddToSpread(std::byte* tensor, int64_t bytes, Spread& spread) const {
  if (threads_ > 1 && bytes <= kEvictBytes * threads_) spread.Add(tensor, bytes);
}

Status Runner::Bind(const RunTask& task, Loaded& loaded) {
  const graph::Workload& workload = *task.workload;
  const BuiltKernel& built = *task.built;
  loaded.object = MLC_TRY(Load(built));
  const int64_t copies = CopiesOf(task);
  const std::vector<int64_t> sizes = SizesOf(task, threads_);
  const int64_t scratch = sizes.back();
  const int64_t shared = sizes[sizes.size() - 2];
  MLC_TRY(arena_.Reset(sizes));
  std::vector<std::byte*> prepared;
  for (const PreparedPart& p : built.preparations) {
    Loaded::Prepared entry{arena_.Take(p.bytes, "a prepared buffer"), p.bytes, {}};
    for (int64_t c = 0; c < copies; ++c) {
      entry.copies.push_back(arena_.Take(p.bytes, "a copy of a prepared buffer"));
    }
    prepared.push_back(entry.original);
    loaded.prepared.push_back(std::move(entry));
  }
  for (size_t i = 0; i < workload.outputs().size(); ++i) {
    loaded.outputs.push_back(arena_.Take(OutputBytes(workload, i), "output " + std::to_string(i)));
    if (task.spread) AddToSpread(loaded.outputs.back(), OutputBytes(workload, i), loaded.spread);
  }
  const ReferenceLayout layout = ReferenceLayoutOf(workload);
  const auto operand = [&](size_t i) {
    // Kernels do not write inputs; the mapping forbids it.
    return const_cast<std::byte*>(task.reference) + layout.operands[i];
  };
  for (const size_t i : MadeByOthers(task, threads_)) {
    const int64_t bytes = OperandBytes(workload, i);
    std::byte* const copy = arena_.Take(bytes, "a copy of input " + std::to_string(i));
    loaded.inputs.push_back({operand(i), copy, bytes});
    AddToSpread(copy, bytes, loaded.spread);
  }
  void* const workspace_base = arena_.Take(shared, "the workspace");
  void* const thread_base = arena_.Take(scratch, "thread scratch");
  const auto part = [&](const KernelPart& kernel,
                        std::vector<void*> buffers) -> Result<Loaded::Part> {
    const auto count = static_cast<int>(kernel.layout.phase_extents.size());
    const std::vector<mlc_phase_fn> phases = MLC_TRY(loaded.object->Phases(kernel.name, count));
    Loaded::Part made;
    for (size_t i = 0; i < phases.size(); ++i) {
      made.phases.push_back({phases[i], kernel.layout.phase_extents[i]});
    }
    buffers.insert(buffers.end(), {workspace_base, thread_base});
    made.buffers = std::move(buffers);
    return made;
  };
  for (size_t i = 0; i < built.preparations.size(); ++i) {
    std::vector<void*> buffers;
    for (int index : built.preparations[i].operands) {
      buffers.push_back(operand(static_cast<size_t>(index)));
    }
    buffers.push_back(prepared[i]);
    loaded.preparations.push_back(MLC_TRY(part(built.preparations[i].kernel, buffers)));
  }
  std::vector<void*> buffers;
  for (const schedule::Binding& binding : built.bindings) {
    const auto index = static_cast<size_t>(binding.index);
    buffers.push_back(binding.kind == Kind::kOperand  ? operand(index)
                      : binding.kind == Kind::kOutput ? loaded.outputs[index]
                                                      : prepared[index]);
  }
  loaded.kernel = MLC_TRY(part(built.kernel, std::move(buffers)));
  return Status();
}

void Runner::Execute(Loaded& loaded) {
  const std::vector<void*>& buffers = loaded.turns[loaded.next_turn];
  loaded.next_turn = (loaded.next_turn + 1) % loaded.turns.size();
  mlc_run_phases(pool_, loaded.kernel.phases.data(), static_cast<int>(loaded.kernel.phases.size()),
                 buffers.data());
}

std::optional<Measurement> Runner::Check(const RunTask& task, const Loaded& loaded, double& error) {
  const graph::Workload& workload = *task.workload;
  const ReferenceLayout layout = ReferenceLayoutOf(workload);
  std::string wrong = arena_.GuardError();
  for (size_t i = 0; i < workload.outputs().size() && wrong.empty(); ++i) {
    const graph::TensorType& type = workload.graph()[workload.outputs()[i]].type;
    const Comparison comparison =
        Compare(type, loaded.outputs[i], task.reference + layout.results[i], ToleranceOf(workload));
    error = std::max(error, comparison.error);
    if (!comparison.ok) wrong = "output " + std::to_string(i) + ": " + comparison.detail;
    if (WritesBetweenStrides(type, loaded.outputs[i])) {
      wrong = "writes between the strides of output " + std::to_string(i);
    }
  }
  if (wrong.empty()) return std::nullopt;
  tainted_ = true;
  Measurement measurement = Failed(Outcome::kWrongResult, wrong);
  measurement.max_error = error;
  return measurement;
}

double Runner::MachineSpeed() {
  if (probe_ == nullptr) return 1;
  // The clock changes by itself, so bursts slightly below the best are good enough. The usual speed
  // needs few bursts: the fastest of many is above it.
  constexpr double kGoodEnough = 0.9;
  const double best = state_.fma.best();
  const double enough = state_.fma.IsShared() ? 0
                        : best > 0            ? kGoodEnough * best
                                              : std::numeric_limits<double>::infinity();
  const double fma = state_.fma.Closeness(probe_->FmaGflops(pool_, enough));
  return std::min(fma, state_.l1.Closeness(probe_->L1Gflops(pool_)));
}

void Runner::RecordSpeed() {
  if (probe_ == nullptr) return;
  state_.fma.Record(probe_->FmaGflops(pool_, 0));
  state_.l1.Record(probe_->L1Gflops(pool_));
}

// Threads that sleep while they wait are put on one core when they wake up: the scheduler spreads
// them over the cores of a busy machine again.
void Runner::Spin(int64_t ns) {
  const int64_t end = NowNs() + ns;
  while (NowNs() < end) (void)probe_->FmaGflops(pool_, 0);
}

void Runner::ReadClock() {
  const int64_t now = NowNs();
  if (probe_ == nullptr) return;
  if (state_.clock_read_at_ns != 0 && now - state_.clock_read_at_ns < kClockIntervalNs) return;
  state_.clock_mhz = ClockMhz();
  state_.clock_read_at_ns = now;
}

Timing Runner::Time(const RunTask& task, Loaded& loaded) {
  TimingOptions options;
  options.early_stop_ns = task.early_stop_ns;
  RecordSpeed();
  // Where neighbours come and go, slices differ by themselves, and the fastest are not the usual.
  if (state_.fma.IsShared()) options.slices_agree = std::numeric_limits<double>::infinity();
  QuietMachineGate gate({[&] { return MachineSpeed(); }, [&](int64_t ns) { Spin(ns); }},
                        state_.retry_budget);
  // Tensors are spread over the caches before each execution, while the clock stands still; not
  // where they have just been evicted.
  Stopwatch watch = SystemStopwatch();
  int64_t spreading_ns = 0;
  watch.now_ns = [&] { return NowNs() - spreading_ns; };
  bool evicted = false;
  const auto run = [&] {
    if (!evicted && !loaded.spread.empty()) {
      const int64_t start = NowNs();
      loaded.spread.Over(pool_);
      spreading_ns += NowNs() - start;
    }
    evicted = false;
    Execute(loaded);
  };
  const auto evict = [&] {
    Evict();
    evicted = true;
  };
  // As in a network, no thread sleeps between two executions.
  mlc_pool_begin(pool_);
  const Timing timing = TimeKernel(run, evict, options, watch, gate);
  mlc_pool_end(pool_);
  return timing;
}

void Runner::Evict() {
  const auto bytes = static_cast<size_t>(kEvictBytes * threads_);
  if (eviction_.size() != bytes) eviction_.assign(bytes, std::byte{1});
  mlc_pool_run(
      pool_,
      [](void* context, int thread) {
        std::byte* from = static_cast<std::byte*>(context) + thread * kEvictBytes;
        for (int64_t i = 0; i < kEvictBytes; i += 64) from[i] ^= std::byte{1};
      },
      eviction_.data());
}

Measurement Runner::Run(const RunTask& task) {
  if (pool_ == nullptr) return Failed(Outcome::kInfra, "cannot start the threads of the pool");
  Loaded loaded;
  const Status bound = Bind(task, loaded);
  if (!bound.ok()) {
    const bool memory = bound.code() == StatusCode::kResourceExhausted;
    return Failed(memory ? Outcome::kInfra : Outcome::kBuildError, bound.message());
  }
  for (const Loaded::Part& p : loaded.preparations) {
    mlc_run_phases(pool_, p.phases.data(), static_cast<int>(p.phases.size()), p.buffers.data());
  }
  loaded.CopyPrepared(pool_);
  Execute(loaded);
  double error = 0;
  if (auto wrong = Check(task, loaded, error)) return *wrong;
  ReadClock();
  loaded.TakeCopies();
  const Timing timing = Time(task, loaded);
  if (loaded.WroteInputs()) {
    tainted_ = true;
    return Failed(Outcome::kWrongResult, "writes to an input");
  }
  // Once more: a kernel may depend on what its scratch held the first time.
  if (auto wrong = Check(task, loaded, error)) return *wrong;
  Measurement m = MeasurementOf(timing, error);
  m.clock_mhz = state_.clock_mhz;
  return m;
}

}  // namespace mlc::worker
