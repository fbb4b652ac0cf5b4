// A kernel specification (kernel_spec/kernel_spec.h) as a space of configs:
//
//   user_kernel/2 block_size_x=64 tile=4 entry=convolution source=eJxLzs8tKEotLl...
//
// An integer parameter is given by its value, another by the number of its value. `source` is the
// whole specification, so that a config can be built wherever it arrives; the log keeps it once.
// Immutable; thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/graph/workload.h"
#include "compiler/schedule/cuda/user_kernel/user_kernel.h"
#include "compiler/schedule/kernel_spec/kernel_spec.h"

namespace mlc::schedule {

class TunedKernel {
 public:
  static constexpr int kVersion = 2;

  // INVALID_ARGUMENT if the specification is too long as one word, or if no config of it was found
  // that its restrictions allow.
  static Result<TunedKernel> Open(KernelSpec spec);
  // The specification of a config, whatever its values. INVALID_ARGUMENT for another form.
  static Result<TunedKernel> FromConfig(const Config& config);

  const KernelSpec& spec() const { return spec_; }
  // By parameter, the number of its values.
  const std::vector<uint16_t>& radix() const { return radix_; }
  // `point`: by parameter, the number of its value. REQUIRES: within radix().
  Config At(const std::vector<uint16_t>& point) const;
  std::vector<ExpressionValue> ValuesAt(const std::vector<uint16_t>& point) const;
  // Empty if the config is not of this specification.
  std::optional<std::vector<uint16_t>> PointOf(const Config& config) const;
  // The default values, or the first ones found that the restrictions allow.
  const std::vector<uint16_t>& default_point() const { return default_point_; }
  // The config's values by name, as C spells them. Empty if it is not of this specification.
  std::vector<std::pair<std::string, std::string>> TextsOf(const Config& config) const;
  // What the config builds. INVALID_ARGUMENT for a config that is not of this specification or
  // that its restrictions forbid, and for its launch.
  Result<UserKernel> Instantiate(const Config& config) const;

 private:
  TunedKernel(KernelSpec spec, std::string packed);
  bool FindDefault();
  int64_t KnobOf(size_t parameter, size_t value) const;

  KernelSpec spec_;
  std::string packed_;
  std::vector<uint16_t> radix_;
  std::vector<bool> by_value_;  // integers
  std::vector<uint16_t> default_point_;
};

// INVALID_ARGUMENT unless the vectors of the specification are the workload's operands and outputs,
// and of their types.
Status CheckArguments(const KernelSpec& spec, const graph::Workload& workload);

bool IsTunedKernel(const Config& config);
// The same of a config's text.
bool IsTunedKernelText(std::string_view config);

}  // namespace mlc::schedule
