// Libraries that take ranges, for tests: the classes of a model merged, the library opened, and
// runs of it beside the plain evaluation of the model at the same sizes. Not thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/front/front.h"
#include "compiler/package/plans.h"
#include "compiler/runtime/sizes.h"
#include "compiler/target/target.h"
#include "tests/support/ranged/ranged_models.h"

namespace mlc::testing {

// The classes of the model in the file, with the default kernels of the target, the largest first.
Result<package::MergedPrograms> MergeClasses(const std::string& path,
                                             const std::vector<front::RangedDim>& dims,
                                             const target::Target& target,
                                             graph::Precision precision);

// Inputs of the model at exactly these sizes, in [-1, 1] if none are given, and what it makes of
// them.
struct Evaluated {
  std::vector<graph::TensorDataRef> inputs;
  std::vector<graph::TensorDataRef> outputs;
};
Result<Evaluated> EvaluateAt(const std::string& path, const std::vector<front::RangedDim>& dims,
                             const front::Sizes& sizes, uint64_t seed,
                             std::vector<graph::TensorDataRef> inputs = {});

// A library opened from its file, with one session.
class OpenedLibrary {
 public:
  static Result<std::unique_ptr<OpenedLibrary>> Open(const std::string& path);
  ~OpenedLibrary();
  OpenedLibrary(const OpenedLibrary&) = delete;
  OpenedLibrary& operator=(const OpenedLibrary&) = delete;

  const mlc_model_api& api() const { return *api_; }
  const mlc_model* model() const { return model_; }
  mlc_session* session() const { return session_; }
  // What the session says of the last failure.
  std::string error() const { return api_->session_error(session_); }

  // Runs at the sizes of the inputs; the outputs with the shapes that the library gives.
  Result<std::vector<graph::TensorDataRef>> Run(const std::vector<graph::TensorDataRef>& inputs);

 private:
  OpenedLibrary() = default;
  void* handle_ = nullptr;
  const mlc_model_api* api_ = nullptr;
  mlc_model* model_ = nullptr;
  mlc_session* session_ = nullptr;
};

// Fails the test where an output has another shape than expected, or differs by more than
// `tolerance` times the largest magnitude.
void ExpectNear(const std::vector<graph::TensorDataRef>& outputs,
                const std::vector<graph::TensorDataRef>& expected, double tolerance);

}  // namespace mlc::testing
