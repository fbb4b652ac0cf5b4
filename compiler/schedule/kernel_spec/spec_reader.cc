// Reads kernel specifications.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "compiler/schedule/kernel_spec/kernel_spec.h"
#include "compiler/schedule/kernel_spec/text_checks.h"

namespace mlc::schedule {
namespace {

using Json = nlohmann::json;

constexpr size_t kMaxSource = size_t{1} << 20;
constexpr size_t kMaxJson = size_t{3} << 20;
constexpr size_t kMaxName = 64;
constexpr size_t kMaxValues = 1024;
constexpr size_t kMaxText = 200;  // of a value that is a word
constexpr size_t kMaxArguments = 64;
constexpr size_t kMaxRestrictions = 256;

constexpr std::string_view kTypes[] = {"bool",   "int8",  "uint8",  "int16", "uint16", "int32",
                                       "uint32", "int64", "uint64", "half",  "float",  "double"};
// What a compiler may be told; anything else could read or write files.
constexpr std::string_view kOptions[] = {"-O1",           "-O2",         "-O3",
                                         "-Ofast",        "-ffast-math", "-funroll-loops",
                                         "-fopenmp-simd", "-std=c11",    "-std=c17"};

}  // namespace

class SpecReader {
 public:
  explicit SpecReader(KernelSpec& spec) : spec_(spec) {}

  Status Read(const Json& json) {
    const Json& space = *MLC_TRY(Member(json, "ConfigurationSpace", Json::value_t::object));
    const Json& kernel = *MLC_TRY(Member(json, "KernelSpecification", Json::value_t::object));
    MLC_TRY(ReadKernel(kernel));
    MLC_TRY(ReadProblem(kernel));
    MLC_TRY(ReadParameters(space));
    MLC_TRY(ReadRestrictions(space));
    MLC_TRY(ReadArguments(kernel));
    MLC_TRY(ReadLaunch(kernel));
    return spec_.Compile();
  }

 private:
  static std::string TypeName(Json::value_t type) {
    switch (type) {
      case Json::value_t::object:
        return "an object";
      case Json::value_t::array:
        return "a list";
      default:
        return "a text";
    }
  }
  static Status NeedsA(const std::string& name, const std::string& what) {
    return InvalidArgument(name + ": " + what + " is needed");
  }
  // A member of that type. INVALID_ARGUMENT if it is missing or of another type.
  static Result<const Json*> Member(const Json& of, const std::string& name, Json::value_t type) {
    if (!of.is_object() || !of.contains(name) || of[name].type() != type) {
      return NeedsA(name, TypeName(type));
    }
    return &of[name];
  }
  static Result<std::string> Text(const Json& of, const std::string& name) {
    const Json& value = *MLC_TRY(Member(of, name, Json::value_t::string));
    return value.get<std::string>();
  }
  // A text, or a number as one: an expression. `otherwise` if the member is missing.
  static Result<std::string> ExpressionText(const Json& of, const std::string& name,
                                            const std::string& otherwise) {
    if (!of.contains(name) || of[name].is_null()) return otherwise;
    if (of[name].is_number_integer()) return of[name].dump();
    return Text(of, name);
  }
  static const Json* Find(const Json& of, const char* name) {
    const auto found = of.find(name);
    return found == of.end() || found->is_null() ? nullptr : &*found;
  }

  Status ReadKernel(const Json& kernel) {
    const std::string language = MLC_TRY(Text(kernel, "Language"));
    if (language != "CUDA" && language != "C") {
      return InvalidArgument("Language: '" + language.substr(0, 40) +
                             "' is not supported: CUDA for GPUs, C for CPUs");
    }
    spec_.language_ = language == "C" ? KernelLanguage::kC : KernelLanguage::kCuda;
    spec_.kernel_name_ = MLC_TRY(Text(kernel, "KernelName"));
    if (!IsName(spec_.kernel_name_)) {
      return InvalidArgument("KernelName: it is not the name of a function of 1 to 64 characters");
    }
    spec_.source_ = MLC_TRY(Text(kernel, "Source"));
    const std::string& source = spec_.source_;
    if (source.empty() || source.size() > kMaxSource || !IsText(source)) {
      return InvalidArgument("Source: 1 byte to 1 MiB of UTF-8 without zero bytes is needed");
    }
    if (source.find(spec_.kernel_name_) == std::string::npos) {
      return InvalidArgument("KernelName: the source has no function '" + spec_.kernel_name_ + "'");
    }
    return ReadOptions(kernel);
  }

  Status ReadOptions(const Json& kernel) {
    const Json* options = Find(kernel, "CompilerOptions");
    if (options == nullptr) return Status();
    if (!options->is_array()) return NeedsA("CompilerOptions", "a list");
    for (const Json& option : *options) {
      const std::string text = option.is_string() ? option.get<std::string>() : option.dump();
      const bool known =
          std::find(std::begin(kOptions), std::end(kOptions), text) != std::end(kOptions);
      if (known && spec_.language_ == KernelLanguage::kC && spec_.options_.size() < 16) {
        spec_.options_.push_back(text);
        continue;
      }
      return InvalidArgument(
          "CompilerOptions: '" + text.substr(0, 60) + "' is not supported: " +
          (spec_.language_ == KernelLanguage::kC
               ? "C takes -O1 to -O3, -Ofast, -ffast-math, -funroll-loops, -fopenmp-simd and -std="
               : "CUDA takes none; write #pragma in the source"));
    }
    return Status();
  }

  Status ReadProblem(const Json& kernel) {
    const Json* size = Find(kernel, "ProblemSize");
    if (size == nullptr) return Status();
    const Json list = size->is_array() ? *size : Json::array({*size});
    for (const Json& extent : list) {
      if (!extent.is_number_integer() || extent.get<int64_t>() < 1 || list.size() > 3) {
        return NeedsA("ProblemSize", "a list of one to three positive integers");
      }
      spec_.problem_size_.push_back(extent.get<int64_t>());
    }
    return Status();
  }

  // "[1, 2]", "list(range(1, 9))", or a list of JSON.
  static Result<std::vector<ExpressionValue>> Values(const Json& parameter) {
    const Json* values = Find(parameter, "Values");
    std::vector<ExpressionValue> list;
    if (values != nullptr && values->is_array()) {
      for (const Json& value : *values) list.push_back(MLC_TRY(Value(value)));
      return list;
    }
    const Expression expression =
        MLC_TRY(Expression::Parse(MLC_TRY(Text(parameter, "Values")), {}));
    const ExpressionValue made = MLC_TRY(expression.Evaluate({}));
    const auto* found = std::get_if<ExpressionValue::List>(&made.value);
    if (found == nullptr) return NeedsA("Values", "a list such as [1, 2, 4] or range(1, 9)");
    return *found;
  }
  static Result<ExpressionValue> Value(const Json& value) {
    if (value.is_boolean()) return ExpressionValue(int64_t{value.get<bool>()});
    if (value.is_number_integer() && !(value.is_number_unsigned() && value.get<uint64_t>() >> 63)) {
      return ExpressionValue(value.get<int64_t>());
    }
    if (value.is_number_float()) return ExpressionValue(value.get<double>());
    if (value.is_string()) return ExpressionValue(value.get<std::string>());
    return InvalidArgument("a value is a number, a truth value or a text");
  }
  // A word becomes part of the source, as its text.
  static bool IsUsable(const ExpressionValue& value) {
    const auto* whole = std::get_if<int64_t>(&value.value);
    if (value.IsNumber()) return whole == nullptr || *whole != INT64_MIN;
    const auto* text = std::get_if<std::string>(&value.value);
    return text != nullptr && text->size() <= kMaxText &&
           std::all_of(text->begin(), text->end(), [](char c) {
             return c >= ' ' && c <= '~' && c != '\\' && c != '"' && c != '\'';
           });
  }

  Status ReadParameters(const Json& space) {
    const Json& list = *MLC_TRY(Member(space, "TuningParameters", Json::value_t::array));
    if (list.empty() || list.size() > KernelSpec::kMaxParameters) {
      return InvalidArgument("TuningParameters: 1 to 40 are needed");
    }
    double points = 1;
    for (const Json& entry : list) {
      SpecParameter parameter;
      parameter.name = MLC_TRY(Text(entry, "Name"));
      const std::string where = "parameter '" + parameter.name.substr(0, kMaxName) + "'";
      MLC_TRY(CheckNew(parameter.name).WithPrefix(where));
      Result<std::vector<ExpressionValue>> values = Values(entry);
      if (!values.ok()) return values.status().WithPrefix(where);
      parameter.values = *std::move(values);
      MLC_TRY(CheckValues(parameter).WithPrefix(where));
      MLC_TRY(ReadDefault(entry, parameter).WithPrefix(where));
      points *= static_cast<double>(parameter.values.size());
      spec_.parameters_.push_back(std::move(parameter));
    }
    if (points <= static_cast<double>(KernelSpec::kMaxPoints)) return Status();
    return InvalidArgument("TuningParameters: their product has more than 2^31 points");
  }

  Status CheckNew(const std::string& name) {
    constexpr std::string_view kTaken[] = {"ProblemSize", "entry", "source"};
    if (!IsName(name)) return InvalidArgument("a name of 1 to 64 letters, digits and _ is needed");
    const bool taken = std::find(std::begin(kTaken), std::end(kTaken), name) != std::end(kTaken);
    if (!taken && names_.insert(name).second) return Status();
    return InvalidArgument("the name is used before");
  }

  static Status CheckValues(const SpecParameter& parameter) {
    const std::vector<ExpressionValue>& values = parameter.values;
    if (values.empty() || values.size() > kMaxValues) {
      return InvalidArgument("1 to 1024 values are needed");
    }
    for (size_t i = 0; i < values.size(); ++i) {
      if (!IsUsable(values[i])) {
        return InvalidArgument("the value " + values[i].ToText().substr(0, 60) +
                               " is no number, and no printable text without quotes");
      }
      if (std::find(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(i), values[i]) !=
          values.begin() + static_cast<std::ptrdiff_t>(i)) {
        return InvalidArgument("the value " + values[i].ToText() + " appears twice");
      }
    }
    return Status();
  }

  static Status ReadDefault(const Json& entry, SpecParameter& parameter) {
    const Json* given = Find(entry, "Default");
    if (given == nullptr) return Status();
    const ExpressionValue value = MLC_TRY(Value(*given));
    const auto found = std::find(parameter.values.begin(), parameter.values.end(), value);
    if (found == parameter.values.end()) {
      return InvalidArgument("the default " + value.ToText().substr(0, 60) +
                             " is none of the values");
    }
    parameter.default_value = static_cast<size_t>(found - parameter.values.begin());
    return Status();
  }

  Status ReadRestrictions(const Json& space) {
    const Json* list = Find(space, "Conditions");
    if (list == nullptr) return Status();
    if (!list->is_array() || list->size() > kMaxRestrictions) {
      return NeedsA("Conditions", "a list of at most 256");
    }
    for (const Json& entry : *list) {
      spec_.restriction_texts_.push_back(entry.is_string() ? entry.get<std::string>()
                                                           : MLC_TRY(Text(entry, "Expression")));
    }
    return Status();
  }

  Status ReadArguments(const Json& kernel) {
    const Json& list = *MLC_TRY(Member(kernel, "Arguments", Json::value_t::array));
    if (list.size() > kMaxArguments) return InvalidArgument("Arguments: more than 64");
    for (const Json& entry : list) {
      const std::string where = "argument " + std::to_string(spec_.arguments_.size());
      Result<SpecArgument> argument = Argument(entry);
      if (!argument.ok()) return argument.status().WithPrefix(where);
      spec_.arguments_.push_back(*std::move(argument));
    }
    MLC_TRY(PlaceOperands(list, SpecArgument::Kind::kInput));
    if (MLC_TRY(PlaceOperands(list, SpecArgument::Kind::kOutput)) > 0) return Status();
    return InvalidArgument("Arguments: none is WriteOnly: the kernel has no output");
  }

  // Returns how many arguments are of the kind: each is one of as many operands of the workload.
  Result<size_t> PlaceOperands(const Json& list, SpecArgument::Kind kind) {
    size_t count = 0;
    std::set<int64_t> places;
    for (size_t i = 0; i < list.size(); ++i) {
      if (spec_.arguments_[i].kind != kind) continue;
      const Json* given = Find(list[i], "Operand");
      if (given != nullptr && !given->is_number_integer()) return NeedsA("Operand", "an integer");
      const int64_t place = given != nullptr ? given->get<int64_t>() : static_cast<int64_t>(count);
      places.insert(place);
      spec_.arguments_[i].operand = static_cast<size_t>(place);
      ++count;
    }
    // Distinct, from 0, without a gap.
    if (places.size() == count &&
        (count == 0 ||
         (*places.begin() == 0 && *places.rbegin() + 1 == static_cast<int64_t>(count)))) {
      return count;
    }
    return InvalidArgument(
        "Operand: the vectors that are ReadOnly are numbered from 0, each with a number of its "
        "own; "
        "so are those that are WriteOnly");
  }

  Result<SpecArgument> Argument(const Json& entry) {
    SpecArgument argument;
    argument.name = MLC_TRY(ExpressionText(entry, "Name", ""));
    if (!argument.name.empty()) MLC_TRY(CheckNew(argument.name).WithPrefix("Name"));
    argument.type = MLC_TRY(Text(entry, "Type"));
    if (std::find(std::begin(kTypes), std::end(kTypes), argument.type) == std::end(kTypes)) {
      return InvalidArgument("Type: '" + argument.type.substr(0, 40) + "' is not supported");
    }
    const std::string memory = MLC_TRY(Text(entry, "MemoryType"));
    if (memory == "Scalar") {
      argument.kind = SpecArgument::Kind::kScalar;
      const Json* value = Find(entry, "FillValue");
      if (value == nullptr || !value->is_number()) return NeedsA("FillValue", "a number");
      argument.value = MLC_TRY(Value(*value));
      const bool is_float = argument.type == "float" || argument.type == "double";
      const auto* real = std::get_if<double>(&argument.value.value);
      if (!is_float && real != nullptr) return NeedsA("FillValue", "an integer");
      if (argument.type == "half") return InvalidArgument("Type: a scalar cannot be half");
      return argument;
    }
    if (memory != "Vector" || entry.value("MemType", Json()) == "Constant") {
      return InvalidArgument("MemoryType: Vector in global memory and Scalar are supported");
    }
    const std::string access = MLC_TRY(ExpressionText(entry, "AccessType", "ReadOnly"));
    if (access != "ReadOnly" && access != "WriteOnly") {
      return InvalidArgument(
          "AccessType: ReadOnly and WriteOnly are supported; a kernel that reads what it "
          "overwrites cannot be executed again on the same inputs: give it a second buffer");
    }
    argument.kind =
        access == "WriteOnly" ? SpecArgument::Kind::kOutput : SpecArgument::Kind::kInput;
    return argument;
  }

  // Along x, y and z.
  static Result<std::vector<std::string>> Extents(const Json& of, const std::string& name) {
    const Json& extents = *MLC_TRY(Member(of, name, Json::value_t::object));
    std::vector<std::string> texts;
    for (const char* axis : {"X", "Y", "Z"}) {
      texts.push_back(MLC_TRY(ExpressionText(extents, axis, "1")));
    }
    return texts;
  }

  Status ReadLaunch(const Json& kernel) {
    spec_.launch_.threads = {"1", "1", "1"};
    if (spec_.language_ == KernelLanguage::kCuda) {
      spec_.launch_.threads = MLC_TRY(Extents(kernel, "LocalSize"));
    }
    spec_.launch_.shared_bytes = MLC_TRY(ExpressionText(kernel, "SharedMemory", "0"));
    if (Find(kernel, "GridDivX") != nullptr) return ReadDivisors(kernel);
    spec_.launch_.blocks = MLC_TRY(Extents(kernel, "GlobalSize"));
    const Json type = kernel.value("GlobalSizeType", Json("CUDA"));
    if (type == "CUDA") return Status();
    if (type != "OpenCL") return InvalidArgument("GlobalSizeType: CUDA and OpenCL are supported");
    for (size_t i = 0; i < 3; ++i) {
      std::string& blocks = spec_.launch_.blocks[i];
      blocks = "ceil((" + blocks + ") / (" + spec_.launch_.threads[i] + "))";
    }
    return Status();
  }

  // Blocks along an axis: the problem's extent over the product of its divisors, rounded up.
  Status ReadDivisors(const Json& kernel) {
    constexpr const char* kNames[] = {"GridDivX", "GridDivY", "GridDivZ"};
    for (size_t i = 0; i < 3; ++i) {
      const Json* list = Find(kernel, kNames[i]);
      if (list != nullptr && !list->is_array()) return NeedsA(kNames[i], "a list of expressions");
      if (i >= spec_.problem_size_.size()) {
        if (list != nullptr && !list->empty()) {
          return InvalidArgument(std::string(kNames[i]) + ": ProblemSize has no such extent");
        }
        spec_.launch_.blocks.emplace_back("1");
        continue;
      }
      std::string blocks = "ProblemSize[" + std::to_string(i) + "]";
      std::string divisor;
      for (size_t k = 0; list != nullptr && k < list->size(); ++k) {
        const Json& part = (*list)[k];
        if (!part.is_string() && !part.is_number_integer()) return NeedsA(kNames[i], "expressions");
        divisor += (k == 0 ? "(" : " * (") +
                   (part.is_string() ? part.get<std::string>() : part.dump()) + ")";
      }
      if (!divisor.empty()) blocks = "ceil(" + blocks + " / (" + divisor + "))";
      spec_.launch_.blocks.push_back(blocks);
    }
    return Status();
  }

  KernelSpec& spec_;
  std::set<std::string> names_;
};

Result<KernelSpec> KernelSpec::Parse(std::string_view json) {
  if (json.size() > kMaxJson) return InvalidArgument("the specification is longer than 3 MiB");
  if (!IsShallow(json)) return InvalidArgument("the specification is nested too deeply");
  // The library throws for what is no JSON, with the position.
  try {
    KernelSpec spec;
    MLC_TRY(SpecReader(spec).Read(Json::parse(json)));
    return spec;
  } catch (const Json::exception& error) {
    return InvalidArgument("the specification is not JSON: " + std::string(error.what()));
  }
}

}  // namespace mlc::schedule
