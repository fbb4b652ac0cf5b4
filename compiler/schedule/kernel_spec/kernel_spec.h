// A kernel specification: a user's source with tunable parameters, restrictions, a launch and
// arguments. It is read from the JSON of the auto-tuning community (its input format, T1) and from
// TOML with the same keys (docs/reference/kernel-spec.md), and has one canonical text, a JSON that
// reads back. Texts come from users and over the network; what they may cost is limited. A value;
// thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "compiler/schedule/kernel_spec/expression.h"
#include "compiler/target/launch.h"

namespace mlc::schedule {

enum class KernelLanguage : uint8_t { kCuda, kC };

struct SpecParameter {
  std::string name;
  std::vector<ExpressionValue> values;  // distinct, none is a list
  size_t default_value = 0;             // of `values`
};

struct SpecArgument {
  enum class Kind : uint8_t { kInput, kOutput, kScalar };
  std::string name;
  Kind kind = Kind::kInput;
  std::string type;       // "float", "int32", ...
  ExpressionValue value;  // of a scalar
  // Of a vector: which of the workload's inputs or outputs it is, in the order of arguments unless
  // the specification says otherwise.
  size_t operand = 0;
};

// Expressions, as texts.
struct SpecLaunch {
  std::vector<std::string> blocks;   // along x, y and z, one to three
  std::vector<std::string> threads;  // of a block
  std::string shared_bytes = "0";    // dynamic shared memory of a block
  friend bool operator==(const SpecLaunch&, const SpecLaunch&) = default;
};

// What one choice of values makes of a specification.
struct SpecInstance {
  std::string source;  // with a definition for each parameter and the function `entry`
  std::string entry;   // takes pointers to all inputs, then to all outputs
  target::Dim3 grid = 1;
  target::Dim3 block = 1;
  int64_t block_bytes = 0;
};

class KernelSpec {
 public:
  static constexpr size_t kMaxParameters = 40;
  static constexpr size_t kMaxPoints = size_t{1} << 31;  // of the product of all domains

  // Reads T1 JSON or the canonical text. The source is the member Source of KernelSpecification;
  // files are the caller's business. INVALID_ARGUMENT with the member and the column at fault.
  static Result<KernelSpec> Parse(std::string_view json);
  std::string ToText() const;

  KernelLanguage language() const { return language_; }
  const std::string& kernel_name() const { return kernel_name_; }
  const std::string& source() const { return source_; }
  const std::vector<std::string>& options() const { return options_; }
  const std::vector<SpecParameter>& parameters() const { return parameters_; }
  const std::vector<SpecArgument>& arguments() const { return arguments_; }
  // Scalar arguments in the order of the function.
  std::vector<const SpecArgument*> Scalars() const;
  // The texts that must hold.
  const std::vector<std::string>& restrictions() const { return restriction_texts_; }

  // `values`: one of each parameter, in order. False also where a restriction cannot be evaluated.
  bool Allows(const std::vector<ExpressionValue>& values) const;
  // INVALID_ARGUMENT for a launch that is not one. REQUIRES: as many values as parameters.
  Result<SpecInstance> Instantiate(const std::vector<ExpressionValue>& values) const;
  // The launch alone; the other members are empty.
  Result<SpecInstance> Launch(const std::vector<ExpressionValue>& values) const;
  friend bool operator==(const KernelSpec& a, const KernelSpec& b) {
    return a.ToText() == b.ToText();
  }

 private:
  friend class SpecReader;
  Status Compile();  // the expressions
  std::vector<ExpressionValue> Bind(const std::vector<ExpressionValue>& values) const;

  KernelLanguage language_ = KernelLanguage::kCuda;
  std::string kernel_name_;
  std::string source_;
  std::vector<std::string> options_;
  std::vector<SpecParameter> parameters_;
  std::vector<int64_t> problem_size_;
  std::vector<SpecArgument> arguments_;
  std::vector<std::string> restriction_texts_;
  SpecLaunch launch_;
  std::vector<ExpressionValue> constants_;  // behind the parameters' values, for expressions
  std::vector<Expression> restrictions_;
  std::vector<Expression> blocks_, threads_;
  std::optional<Expression> shared_;
};

}  // namespace mlc::schedule
