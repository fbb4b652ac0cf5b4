#include "compiler/schedule/cuda/user_kernel/tuned_kernel.h"

#include <algorithm>
#include <utility>

#include "base/rng.h"
#include "compiler/schedule/cuda/user_kernel/packed_source.h"

namespace mlc::schedule {
namespace {

using ValueIndices = std::vector<uint16_t>;

// Where the default is not allowed: so many points are tried in order, and as many at random.
constexpr int kTries = 20'000;

// The next point in order, the last parameter fastest; false after the last one.
bool Advance(ValueIndices& point, const ValueIndices& radix) {
  for (size_t k = point.size(); k-- > 0;) {
    if (++point[k] < radix[k]) return true;
    point[k] = 0;
  }
  return false;
}

bool IsInteger(const ExpressionValue& value) {
  return std::holds_alternative<int64_t>(value.value);
}

// As specifications name it; a type that they do not know has its own name.
std::string_view TypeNameOf(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return "float";
    case DType::kF64:
      return "double";
    case DType::kF16:
      return "half";
    case DType::kI8:
      return "int8";
    case DType::kU8:
      return "uint8";
    case DType::kI16:
      return "int16";
    case DType::kI32:
      return "int32";
    case DType::kI64:
      return "int64";
    case DType::kU16:
      return "uint16";
    case DType::kU32:
      return "uint32";
    case DType::kU64:
      return "uint64";
    default:
      break;
  }
  return ToText(dtype);
}

}  // namespace

TunedKernel::TunedKernel(KernelSpec spec, std::string packed)
    : spec_(std::move(spec)), packed_(std::move(packed)) {
  for (const SpecParameter& parameter : spec_.parameters()) {
    radix_.push_back(static_cast<uint16_t>(parameter.values.size()));
    by_value_.push_back(std::all_of(parameter.values.begin(), parameter.values.end(), IsInteger));
    default_point_.push_back(static_cast<uint16_t>(parameter.default_value));
  }
}

Result<TunedKernel> TunedKernel::Open(KernelSpec spec) {
  const std::string packed = MLC_TRY(PackSource(spec.ToText()));
  TunedKernel kernel(std::move(spec), packed);
  if (kernel.FindDefault()) return kernel;
  return InvalidArgument(
      "no values were found that the restrictions allow: give each parameter a Default");
}

Result<TunedKernel> TunedKernel::FromConfig(const Config& config) {
  if (!IsTunedKernel(config) || config.words.size() != 2 || config.words[0].first != "entry" ||
      config.words[1].first != "source") {
    return InvalidArgument("a tuned kernel has its parameters, entry and source, in this order");
  }
  const std::string text = MLC_TRY(UnpackSource(config.words[1].second));
  KernelSpec spec = MLC_TRY(KernelSpec::Parse(text));
  if (spec.kernel_name() != config.words[0].second) {
    return InvalidArgument("the entry of a tuned kernel is not that of its specification");
  }
  return TunedKernel(std::move(spec), config.words[1].second);
}

bool TunedKernel::FindDefault() {
  const auto allowed = [&](const ValueIndices& point) {
    const std::vector<ExpressionValue> values = ValuesAt(point);
    return spec_.Allows(values) && spec_.Launch(values).ok();
  };
  if (allowed(default_point_)) return true;
  ValueIndices point(radix_.size(), 0);
  for (int i = 0; i < kTries; ++i) {
    if (allowed(point)) break;
    if (!Advance(point, radix_)) return false;
  }
  Rng rng(1);
  for (int i = 0; i < kTries && !allowed(point); ++i) {
    for (size_t k = 0; k < point.size(); ++k)
      point[k] = static_cast<uint16_t>(rng.Below(radix_[k]));
  }
  default_point_ = point;
  return allowed(point);
}

int64_t TunedKernel::KnobOf(size_t parameter, size_t value) const {
  if (!by_value_[parameter]) return static_cast<int64_t>(value);
  return std::get<int64_t>(spec_.parameters()[parameter].values[value].value);
}

Config TunedKernel::At(const ValueIndices& point) const {
  Config config{std::string(kUserKernel), kVersion, {}, {}};
  for (size_t k = 0; k < point.size(); ++k) {
    config.knobs.emplace_back(spec_.parameters()[k].name, KnobOf(k, point[k]));
  }
  config.words = {{"entry", spec_.kernel_name()}, {"source", packed_}};
  return config;
}

std::vector<ExpressionValue> TunedKernel::ValuesAt(const ValueIndices& point) const {
  std::vector<ExpressionValue> values;
  for (size_t k = 0; k < point.size(); ++k) {
    values.push_back(spec_.parameters()[k].values[point[k]]);
  }
  return values;
}

std::optional<ValueIndices> TunedKernel::PointOf(const Config& config) const {
  if (!IsTunedKernel(config) || config.knobs.size() != radix_.size()) return std::nullopt;
  if (config.words.size() != 2 || config.words[1].second != packed_) return std::nullopt;
  ValueIndices point;
  for (size_t k = 0; k < radix_.size(); ++k) {
    if (config.knobs[k].first != spec_.parameters()[k].name) return std::nullopt;
    size_t value = 0;
    while (value < radix_[k] && KnobOf(k, value) != config.knobs[k].second) ++value;
    if (value == radix_[k]) return std::nullopt;
    point.push_back(static_cast<uint16_t>(value));
  }
  return point;
}

Result<UserKernel> TunedKernel::Instantiate(const Config& config) const {
  const std::optional<ValueIndices> point = PointOf(config);
  if (!point) return InvalidArgument("the config has not the parameters of its specification");
  const std::vector<ExpressionValue> values = ValuesAt(*point);
  if (!spec_.Allows(values)) return InvalidArgument("the specification forbids this config");
  SpecInstance made = MLC_TRY(spec_.Instantiate(values));
  UserKernel kernel;
  kernel.entry = std::move(made.entry);
  kernel.source = std::move(made.source);
  kernel.grid = made.grid;
  kernel.block = made.block;
  kernel.block_bytes = made.block_bytes;
  kernel.language = spec_.language();
  kernel.options = spec_.options();
  return kernel;
}

Status CheckArguments(const KernelSpec& spec, const graph::Workload& workload) {
  const auto check = [&](SpecArgument::Kind kind, const std::vector<graph::ValueId>& values,
                         const std::string& word) -> Status {
    for (const SpecArgument& argument : spec.arguments()) {
      if (argument.kind != kind || argument.operand >= values.size()) continue;
      const DType dtype = workload.graph()[values[argument.operand]].type.dtype;
      if (argument.type == TypeNameOf(dtype)) continue;
      return InvalidArgument("argument '" + argument.name + "' is of type " + argument.type + ", " +
                             word + " " + std::to_string(argument.operand) +
                             " of the workload is " + std::string(TypeNameOf(dtype)));
    }
    const auto wanted = static_cast<size_t>(
        std::count_if(spec.arguments().begin(), spec.arguments().end(),
                      [&](const SpecArgument& argument) { return argument.kind == kind; }));
    if (wanted == values.size()) return Status();
    return InvalidArgument("the specification has " + std::to_string(wanted) + " " + word +
                           "s (vectors), the workload " + std::to_string(values.size()));
  };
  MLC_TRY(check(SpecArgument::Kind::kInput, workload.operands(), "input"));
  return check(SpecArgument::Kind::kOutput, workload.outputs(), "output");
}

bool IsTunedKernel(const Config& config) {
  return IsUserKernel(config) && config.version == TunedKernel::kVersion;
}

bool IsTunedKernelText(std::string_view config) {
  return config.starts_with(std::string(kUserKernel) + "/" + std::to_string(TunedKernel::kVersion) +
                            " ");
}

std::vector<std::pair<std::string, std::string>> TunedKernel::TextsOf(const Config& config) const {
  std::vector<std::pair<std::string, std::string>> texts;
  const std::optional<ValueIndices> point = PointOf(config);
  if (!point) return texts;
  const std::vector<ExpressionValue> values = ValuesAt(*point);
  for (size_t k = 0; k < values.size(); ++k) {
    const auto* word = std::get_if<std::string>(&values[k].value);
    texts.emplace_back(spec_.parameters()[k].name, word != nullptr ? *word : values[k].ToText());
  }
  return texts;
}

}  // namespace mlc::schedule
