// One lowered config made runnable in this process: compiled, loaded, its operands filled with
// random numbers and its weights prepared. Not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "compiler/build/loaded_kernel.h"
#include "compiler/codegen/llvm.h"
#include "compiler/schedule/family.h"

namespace mlc::bench {

// Memory aligned to a page and zeroed.
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

class RunnableKernel {
 public:
  static Result<std::unique_ptr<RunnableKernel>> Create(const graph::Workload& workload,
                                                        const target::Target& target,
                                                        const schedule::Config& config,
                                                        WorkloadData& data);
  void Run(Threads& threads);
  // Seconds of one run: the median of `samples`, each of at least `sample_s`.
  double Time(Threads& threads, int samples, double sample_s);

 private:
  codegen::KernelLayout layout_;
  std::unique_ptr<build::LoadedObject> object_;
  std::vector<mlc_phase_fn> phases_;
  std::vector<AlignedBuffer> prepared_;
  AlignedBuffer shared_;
  AlignedBuffer scratch_;
  std::vector<void*> buffers_;
};

}  // namespace mlc::bench
