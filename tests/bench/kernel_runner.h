// One lowered config made runnable in this process: compiled, loaded, its operands filled with
// random numbers and its weights prepared. Not thread-safe.
//
// In a model the weights of a kernel come from memory: every other kernel ran in between. A run
// may therefore take them from one of many copies in turn (see ColdWeights).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "compiler/build/loaded_kernel.h"
#include "compiler/codegen/llvm.h"
#include "compiler/schedule/space/family.h"

namespace mlc::bench {

// Zeroed memory, aligned to a page; in huge pages where it is large.
class AlignedBuffer {
 public:
  explicit AlignedBuffer(int64_t bytes = 0);
  std::byte* data() const { return data_.get(); }
  int64_t size() const { return size_; }

 private:
  struct Free {
    void operator()(std::byte* p) const;
  };
  std::unique_ptr<std::byte[], Free> data_;
  int64_t size_ = 0;
};

// Operands and outputs of a workload, shared by all its candidates.
struct WorkloadData {
  explicit WorkloadData(const graph::Workload& workload, uint64_t seed);
  std::vector<AlignedBuffer> operands;
  std::vector<AlignedBuffer> outputs;
};

// Runs phases on up to two threads, each pinned; the helper spins between runs.
class Threads {
 public:
  explicit Threads(int count);
  ~Threads();
  void Run(mlc_phase_fn fn, void* const* buffers, int64_t extent);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Memory for copies of prepared weights, shared by all kernels of a process: together they exceed
// the caches, so that a copy has left them by the time it is used again.
class ColdWeights {
 public:
  explicit ColdWeights(int64_t bytes);
  std::byte* data() const { return data_; }
  int64_t size() const { return size_; }

 private:
  AlignedBuffer memory_;
  std::byte* data_ = nullptr;
  int64_t size_ = 0;
};

class RunnableKernel {
 public:
  static Result<std::unique_ptr<RunnableKernel>> Create(const graph::Workload& workload,
                                                        const target::Target& target,
                                                        const schedule::Config& config,
                                                        WorkloadData& data);
  void Run(Threads& threads);
  // From now on runs read weights that left the caches. `cold` is filled with copies of this
  // kernel's weights: until another kernel does the same with it.
  void UseCold(const ColdWeights& cold);
  // Seconds of one run: the median of `samples`, each of at least `sample_s` and, as far as the
  // machine allows, without an involuntary context switch.
  double Time(Threads& threads, int samples, double sample_s);

 private:
  codegen::KernelLayout layout_;
  std::unique_ptr<build::LoadedObject> object_;
  std::vector<mlc_phase_fn> phases_;
  std::vector<AlignedBuffer> prepared_;
  std::vector<std::vector<void*>> copies_;  // tables of buffers, taken in turn
  size_t next_copy_ = 0;
  AlignedBuffer shared_;
  AlignedBuffer scratch_;
  std::vector<void*> buffers_;
};

}  // namespace mlc::bench
