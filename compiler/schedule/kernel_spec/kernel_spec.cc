#include "compiler/schedule/kernel_spec/kernel_spec.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text.h"
#include "compiler/schedule/kernel_spec/expression_lexer.h"
#include "compiler/schedule/kernel_spec/source_text.h"

namespace mlc::schedule {
namespace {

using Kind = SpecArgument::Kind;

nlohmann::ordered_json ToJson(const ExpressionValue& value) {
  if (const auto* whole = std::get_if<int64_t>(&value.value)) return *whole;
  if (const auto* real = std::get_if<double>(&value.value)) return *real;
  return std::get<std::string>(value.value);
}

// `order`: among the arguments of its kind.
nlohmann::ordered_json ToJson(const SpecArgument& argument, size_t order) {
  nlohmann::ordered_json json;
  if (!argument.name.empty()) json["Name"] = argument.name;
  json["Type"] = argument.type;
  json["MemoryType"] = argument.kind == Kind::kScalar ? "Scalar" : "Vector";
  if (argument.kind == Kind::kScalar) {
    json["FillValue"] = ToJson(argument.value);
  } else {
    json["AccessType"] = argument.kind == Kind::kOutput ? "WriteOnly" : "ReadOnly";
    if (argument.operand != order) json["Operand"] = argument.operand;
  }
  return json;
}

const char* TypeOf(const SpecParameter& parameter) {
  const auto holds = [&](auto example) {
    return std::any_of(parameter.values.begin(), parameter.values.end(), [](const auto& value) {
      return std::holds_alternative<decltype(example)>(value.value);
    });
  };
  return holds(std::string()) ? "string" : holds(0.0) ? "float" : "int";
}

bool UsesName(const std::string& text, const std::string& name) {
  for (size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1)) {
    const size_t end = at + name.size();
    const bool begins = at == 0 || !IsNameCharacter(text[at - 1]);
    if (begins && (end == text.size() || !IsNameCharacter(text[end]))) return true;
  }
  return false;
}

nlohmann::ordered_json Axes(const std::vector<std::string>& extents) {
  return {{"X", extents[0]}, {"Y", extents[1]}, {"Z", extents[2]}};
}

Result<std::vector<Expression>> ParseAll(const std::vector<std::string>& texts,
                                         const std::vector<std::string>& names,
                                         const std::string& where) {
  std::vector<Expression> parsed;
  for (const std::string& text : texts) {
    Result<Expression> expression = Expression::Parse(text, names);
    if (!expression.ok()) return expression.status().WithPrefix(where);
    parsed.push_back(*std::move(expression));
  }
  return parsed;
}

}  // namespace

std::string KernelSpec::ToText() const {
  nlohmann::ordered_json json;
  nlohmann::ordered_json& space = json["ConfigurationSpace"];
  for (const SpecParameter& parameter : parameters_) {
    nlohmann::ordered_json entry = {{"Name", parameter.name}, {"Type", TypeOf(parameter)}};
    entry["Values"] = ExpressionValue(parameter.values).ToText();
    entry["Default"] = ToJson(parameter.values[parameter.default_value]);
    space["TuningParameters"].push_back(std::move(entry));
  }
  for (const std::string& text : restriction_texts_) {
    nlohmann::ordered_json names = nlohmann::ordered_json::array();
    for (const SpecParameter& parameter : parameters_) {
      if (UsesName(text, parameter.name)) names.push_back(parameter.name);
    }
    space["Conditions"].push_back({{"Parameters", names}, {"Expression", text}});
  }
  nlohmann::ordered_json& kernel = json["KernelSpecification"];
  kernel["Language"] = language_ == KernelLanguage::kC ? "C" : "CUDA";
  kernel["KernelName"] = kernel_name_;
  kernel["KernelFile"] = kernel_name_ + (language_ == KernelLanguage::kC ? ".c" : ".cu");
  if (!options_.empty()) kernel["CompilerOptions"] = options_;
  if (!problem_size_.empty()) kernel["ProblemSize"] = problem_size_;
  kernel["LocalSize"] = Axes(launch_.threads);
  kernel["GlobalSize"] = Axes(launch_.blocks);
  if (launch_.shared_bytes != "0") kernel["SharedMemory"] = launch_.shared_bytes;
  size_t orders[3] = {};
  for (const SpecArgument& argument : arguments_) {
    kernel["Arguments"].push_back(ToJson(argument, orders[static_cast<size_t>(argument.kind)]++));
  }
  kernel["Source"] = source_;
  return json.dump();
}

std::vector<const SpecArgument*> KernelSpec::Scalars() const {
  std::vector<const SpecArgument*> scalars;
  for (const SpecArgument& argument : arguments_) {
    if (argument.kind == Kind::kScalar) scalars.push_back(&argument);
  }
  return scalars;
}

// The names of expressions: parameters, scalars that have a name, and ProblemSize.
Status KernelSpec::Compile() {
  std::vector<std::string> names;
  for (const SpecParameter& parameter : parameters_) names.push_back(parameter.name);
  for (const SpecArgument* scalar : Scalars()) names.push_back(scalar->name);
  names.emplace_back("ProblemSize");
  for (const SpecArgument* scalar : Scalars()) constants_.push_back(scalar->value);
  constants_.emplace_back(ExpressionValue::List(problem_size_.begin(), problem_size_.end()));
  restrictions_ = MLC_TRY(ParseAll(restriction_texts_, names, "Conditions"));
  blocks_ = MLC_TRY(ParseAll(launch_.blocks, names, "GlobalSize"));
  threads_ = MLC_TRY(ParseAll(launch_.threads, names, "LocalSize"));
  shared_ = MLC_TRY(ParseAll({launch_.shared_bytes}, names, "SharedMemory")).front();
  // What fails for the default values is most likely wrong for all.
  std::vector<ExpressionValue> values;
  for (const SpecParameter& p : parameters_) values.push_back(p.values[p.default_value]);
  const std::vector<ExpressionValue> bound = Bind(values);
  for (const Expression& restriction : restrictions_) {
    const Result<ExpressionValue> holds = restriction.Evaluate(bound);
    if (!holds.ok()) return holds.status().WithPrefix("Conditions");
  }
  if (!Allows(values)) return Status();
  return Launch(values).status();
}

std::vector<ExpressionValue> KernelSpec::Bind(const std::vector<ExpressionValue>& values) const {
  std::vector<ExpressionValue> bound;
  bound.reserve(values.size() + constants_.size());
  bound.insert(bound.end(), values.begin(), values.end());
  bound.insert(bound.end(), constants_.begin(), constants_.end());
  return bound;
}

bool KernelSpec::Allows(const std::vector<ExpressionValue>& values) const {
  const std::vector<ExpressionValue> bound = Bind(values);
  return std::all_of(restrictions_.begin(), restrictions_.end(),
                     [&](const Expression& restriction) {
                       const Result<ExpressionValue> holds = restriction.Evaluate(bound);
                       return holds.ok() && holds->IsTrue();
                     });
}

Result<SpecInstance> KernelSpec::Launch(const std::vector<ExpressionValue>& values) const {
  const std::vector<ExpressionValue> bound = Bind(values);
  const auto extent = [&](const std::vector<Expression>& axes) -> Result<target::Dim3> {
    return target::Dim3(MLC_TRY(axes[0].EvaluateInteger(bound)),
                        MLC_TRY(axes[1].EvaluateInteger(bound)),
                        MLC_TRY(axes[2].EvaluateInteger(bound)));
  };
  SpecInstance instance;
  Result<target::Dim3> grid = extent(blocks_);
  if (!grid.ok()) return grid.status().WithPrefix("GlobalSize");
  Result<target::Dim3> block = extent(threads_);
  if (!block.ok()) return block.status().WithPrefix("LocalSize");
  const Result<int64_t> shared = shared_->EvaluateInteger(bound);
  if (!shared.ok()) return shared.status().WithPrefix("SharedMemory");
  instance.grid = *grid;
  instance.block = *block;
  instance.block_bytes = *shared;
  MLC_TRY(target::CheckLaunch(instance.grid, instance.block));
  return instance;
}

Result<SpecInstance> KernelSpec::Instantiate(const std::vector<ExpressionValue>& values) const {
  SpecInstance instance = MLC_TRY(Launch(values));
  instance.entry = EntryOf(*this);
  instance.source = SourceOf(*this, values, instance);
  return instance;
}

}  // namespace mlc::schedule
