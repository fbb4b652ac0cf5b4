// A compiled model loaded from its folder through its C interface (mlc_model.h). Owns the library,
// the opened model and one session. Not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "client/model/dims.h"
#include "compiler/graph/graph.h"
#include "compiler/runtime/model.h"
#include "compiler/runtime/sizes.h"

namespace mlc::client {

// A dimension of a library of several sizes.
struct LibraryDim {
  std::string name;
  int64_t least = 0;
  int64_t most = 0;
  bool any_size = false;  // every size between them; else those of the plans
};

class ModelLibrary {
 public:
  // Finds libNAME.so (and NAME.weights) in the folder. NOT_FOUND, FAILED_PRECONDITION for a library
  // of another interface version, or the library's own error. `threads` are those of the CPU;
  // `device` is the GPU of a library for GPUs.
  static Result<std::unique_ptr<ModelLibrary>> Open(const std::string& directory, int threads,
                                                    int device = 0);
  ~ModelLibrary();
  ModelLibrary(const ModelLibrary&) = delete;
  ModelLibrary& operator=(const ModelLibrary&) = delete;

  // Of a library of several sizes: the sizes of each plan, which are classes if the library takes
  // ranges. The session begins with the first ones.
  // Empty: there is one size.
  std::vector<Dims> sizes() const;
  std::vector<LibraryDim> dims() const;
  // INVALID_ARGUMENT unless each dimension, and nothing else, has a size that the library has.
  Status SetSizes(const Dims& sizes);
  Dims sizes_now() const { return sizes_now_; }

  // At the session's sizes.
  std::vector<const mlc_port*> inputs() const;
  std::vector<const mlc_port*> outputs() const;
  int64_t session_bytes() const { return api_->session_bytes(model_, threads_); }
  int threads() const { return threads_; }
  // The GPU of the library, -1 for the CPU.
  int device() const { return api_->device(model_); }
  std::vector<std::string> step_labels() const;
  double load_ms() const { return load_ms_; }

  // The sizes become those of the inputs. INVALID_ARGUMENT if number, type or shape of the inputs
  // differ from the model's.
  Status SetInputs(const std::vector<graph::TensorDataRef>& inputs);
  // Seeded values: normal floats, small integers.
  void SetRandomInputs(uint64_t seed);
  Status Run();
  // On buffers of the caller, one a port, aligned to 64 bytes.
  Status RunOn(const std::vector<const void*>& inputs, const std::vector<void*>& outputs);
  // The input whose buffer may also be passed for the output, which a run then updates; -1: none.
  int in_place_input(int output) const { return api_->in_place_input(model_, output); }
  // The times of `runs` consecutive runs in nanoseconds.
  Result<std::vector<double>> RunTimed(int runs);
  // One time per step, in nanoseconds.
  Result<std::vector<double>> RunProfiled();
  // Copies of the last run's results.
  std::vector<graph::TensorDataRef> Outputs() const;

 private:
  struct Buffers;
  ModelLibrary() = default;
  Status Load(const std::string& path, const std::string& weights, int threads, int device);
  Status CheckRun(mlc_status status) const;
  // Of all ports at the session's sizes, made when they are needed.
  Buffers& buffers() const;
  // Sets the first sizes at which the inputs have these types; keeps them if there are none.
  void SetSizesOf(const std::vector<graph::TensorDataRef>& inputs);

  void* handle_ = nullptr;
  const mlc_model_api* api_ = nullptr;
  mlc_model* model_ = nullptr;
  mlc_session* session_ = nullptr;
  int threads_ = 0;
  double load_ms_ = 0;
  Dims sizes_now_;
  mutable std::unique_ptr<Buffers> buffers_;
};

}  // namespace mlc::client
