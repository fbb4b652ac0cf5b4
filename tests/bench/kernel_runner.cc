#include "tests/bench/kernel_runner.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "base/rng.h"
#include "base/steady_time.h"
#include "tests/bench/measuring.h"

namespace mlc::bench {
namespace {

constexpr int64_t kHugePage = 2 << 20;

void Pin(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
}

// Involuntary context switches of this process so far.
int64_t Preemptions() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_nivcsw;
}

void RunAlone(const std::vector<mlc_phase_fn>& phases, const std::vector<int64_t>& extents,
              void* const* buffers) {
  for (size_t i = 0; i < phases.size(); ++i) phases[i](buffers, 0, extents[i], 0);
}

}  // namespace

void AlignedBuffer::Free::operator()(std::byte* p) const { std::free(p); }

AlignedBuffer::AlignedBuffer(int64_t bytes) : size_(bytes) {
  const size_t page = bytes >= kHugePage ? kHugePage : 4096;
  const size_t rounded = (static_cast<size_t>(bytes) + 4096 + page - 1) / page * page;
  data_.reset(static_cast<std::byte*>(std::aligned_alloc(page, rounded)));
  // As the memory of a session.
  if (page == kHugePage) madvise(data_.get(), rounded, MADV_HUGEPAGE);
  std::memset(data_.get(), 0, rounded);
}

ColdWeights::ColdWeights(int64_t bytes) : memory_(bytes), data_(memory_.data()), size_(bytes) {}

WorkloadData::WorkloadData(const graph::Workload& workload, uint64_t seed) {
  Rng rng(seed);
  for (graph::ValueId id : workload.operands()) {
    const graph::TensorType& type = workload.graph()[id].type;
    operands.emplace_back(type.Extent() * SizeOf(type.dtype));
    if (type.dtype != DType::kF32) continue;
    auto* values = reinterpret_cast<float*>(operands.back().data());
    for (int64_t i = 0; i < type.Extent(); ++i) {
      values[i] = static_cast<float>(rng.Uniform() * 2 - 1);
    }
  }
  for (graph::ValueId id : workload.outputs()) {
    const graph::TensorType& type = workload.graph()[id].type;
    outputs.emplace_back(type.Extent() * SizeOf(type.dtype));
  }
}

struct Threads::State {
  std::atomic<uint64_t> round{0};
  std::atomic<uint64_t> finished{0};
  std::atomic<bool> stop{false};
  mlc_phase_fn fn = nullptr;
  void* const* buffers = nullptr;
  int64_t begin = 0;
  int64_t end = 0;
  std::thread helper;
};

Threads::Threads(int count) {
  Pin(0);
  if (count < 2) return;
  state_ = std::make_unique<State>();
  state_->helper = std::thread([state = state_.get()] {
    Pin(1);
    for (uint64_t seen = 0;;) {
      while (state->round.load(std::memory_order_acquire) == seen) {
        if (state->stop.load(std::memory_order_relaxed)) return;
      }
      ++seen;
      state->fn(state->buffers, state->begin, state->end, 1);
      state->finished.store(seen, std::memory_order_release);
    }
  });
}

Threads::~Threads() {
  if (!state_) return;
  state_->stop = true;
  state_->helper.join();
}

void Threads::Run(mlc_phase_fn fn, void* const* buffers, int64_t extent) {
  if (!state_ || extent < 2) {
    fn(buffers, 0, extent, 0);
    return;
  }
  const int64_t half = (extent + 1) / 2;
  state_->fn = fn;
  state_->buffers = buffers;
  state_->begin = half;
  state_->end = extent;
  const uint64_t round = state_->round.load(std::memory_order_relaxed) + 1;
  state_->round.store(round, std::memory_order_release);
  fn(buffers, 0, half, 0);
  while (state_->finished.load(std::memory_order_acquire) != round) {
  }
}

Result<std::unique_ptr<RunnableKernel>> RunnableKernel::Create(const graph::Workload& workload,
                                                               const target::Target& target,
                                                               const schedule::Config& config,
                                                               WorkloadData& data) {
  schedule::LoweredKernel lowered = MLC_TRY(schedule::LowerConfig(workload, target, config));
  std::vector<const ir::Kernel*> kernels = {&lowered.kernel};
  for (const schedule::Preparation& p : lowered.preparations) kernels.push_back(&p.kernel);
  const std::string object = MLC_TRY(codegen::CompileToObject(kernels, target));
  auto result = std::make_unique<RunnableKernel>();
  result->object_ = MLC_TRY(build::LoadObject(object));
  for (const schedule::Preparation& p : lowered.preparations) {
    result->prepared_.emplace_back(p.elements * SizeOf(p.dtype));
    const codegen::KernelLayout layout = codegen::LayoutOf(p.kernel);
    const AlignedBuffer shared(layout.workspace_bytes);
    const AlignedBuffer scratch(layout.thread_bytes);
    std::vector<void*> buffers;
    for (int operand : p.operands) {
      buffers.push_back(data.operands[static_cast<size_t>(operand)].data());
    }
    buffers.insert(buffers.end(), {result->prepared_.back().data(), shared.data(), scratch.data()});
    const int count = static_cast<int>(layout.phase_extents.size());
    RunAlone(MLC_TRY(result->object_->Phases(p.kernel.name, count)), layout.phase_extents,
             buffers.data());
  }
  result->layout_ = codegen::LayoutOf(lowered.kernel);
  result->phases_ = MLC_TRY(result->object_->Phases(
      lowered.kernel.name, static_cast<int>(result->layout_.phase_extents.size())));
  result->shared_ = AlignedBuffer(result->layout_.workspace_bytes);
  result->scratch_ = AlignedBuffer(result->layout_.thread_bytes * target.cpu().threads);
  for (const schedule::Binding& binding : lowered.bindings) {
    const auto index = static_cast<size_t>(binding.index);
    using Kind = schedule::Binding::Kind;
    result->buffers_.push_back(binding.kind == Kind::kOperand  ? data.operands[index].data()
                               : binding.kind == Kind::kOutput ? data.outputs[index].data()
                                                               : result->prepared_[index].data());
  }
  result->buffers_.push_back(result->shared_.data());
  result->buffers_.push_back(result->scratch_.data());
  return result;
}

void RunnableKernel::Run(Threads& threads) {
  void* const* table = buffers_.data();
  if (!copies_.empty()) table = copies_[next_copy_++ % copies_.size()].data();
  for (size_t i = 0; i < phases_.size(); ++i) {
    threads.Run(phases_[i], table, layout_.phase_extents[i]);
  }
}

void RunnableKernel::UseCold(const ColdWeights& cold) {
  copies_.clear();
  int64_t stride = 0;
  const auto rounded = [](int64_t bytes) { return (bytes + 4095) / 4096 * 4096; };
  for (const AlignedBuffer& p : prepared_) stride += rounded(p.size());
  // Small weights need only leave the second cache; a bound keeps the tables short.
  const int64_t count = stride == 0 ? 0 : std::min<int64_t>(512, cold.size() / stride);
  for (int64_t c = 0; c < count; ++c) {
    std::vector<void*> table = buffers_;
    std::byte* at = cold.data() + c * stride;
    for (const AlignedBuffer& p : prepared_) {
      std::memcpy(at, p.data(), static_cast<size_t>(p.size()));
      std::replace(table.begin(), table.end(), static_cast<void*>(p.data()),
                   static_cast<void*>(at));
      at += rounded(p.size());
    }
    copies_.push_back(std::move(table));
  }
}

double RunnableKernel::Time(Threads& threads, int samples, double sample_s) {
  Run(threads);
  std::vector<double> times;
  // A sample in which another process took a core says nothing about the kernel; on a machine that
  // is never quiet the last ones count all the same.
  for (int tries = 8 * samples; static_cast<int>(times.size()) < samples; --tries) {
    int runs = 0;
    const int64_t before = Preemptions();
    const double start = NowSeconds();
    double end = start;
    do {
      Run(threads);
      ++runs;
      end = NowSeconds();
    } while (end - start < sample_s);
    if (Preemptions() == before || tries <= samples) times.push_back((end - start) / runs);
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

}  // namespace mlc::bench
