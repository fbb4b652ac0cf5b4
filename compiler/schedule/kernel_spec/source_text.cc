#include "compiler/schedule/kernel_spec/source_text.h"

#include <string_view>

#include "base/text.h"
#include "compiler/schedule/kernel_spec/expression_lexer.h"

namespace mlc::schedule {
namespace {

using Kind = SpecArgument::Kind;

std::string ReplaceWord(const std::string& text, std::string_view word, std::string_view by) {
  std::string result;
  size_t from = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    const bool begins = at == 0 || !IsNameCharacter(text[at - 1]);
    const size_t end = at + word.size();
    if (!begins || (end < text.size() && IsNameCharacter(text[end]))) continue;
    result.append(text, from, at - from).append(by);
    from = end;
  }
  return result.append(text, from);
}

// As C and CUDA C++ spell it.
std::string_view TypeText(std::string_view type) {
  constexpr std::pair<std::string_view, std::string_view> kTypes[] = {
      {"bool", "unsigned char"},  {"int8", "signed char"},      {"uint8", "unsigned char"},
      {"int16", "short"},         {"uint16", "unsigned short"}, {"int32", "int"},
      {"uint32", "unsigned int"}, {"int64", "long long"},       {"uint64", "unsigned long long"},
      {"half", "unsigned short"}};
  for (const auto& [name, text] : kTypes) {
    if (name == type) return text;
  }
  return type;  // float, double
}

std::string ValueText(const ExpressionValue& value) {
  if (const auto* text = std::get_if<std::string>(&value.value)) return *text;
  const std::string number = value.ToText();
  return number[0] == '-' ? "(" + number + ")" : number;
}

std::string Definitions(const KernelSpec& spec, const std::vector<ExpressionValue>& values,
                        const SpecInstance& launch) {
  std::string text;
  for (size_t i = 0; i < values.size(); ++i) {
    text += "#define " + spec.parameters()[i].name + " " + ValueText(values[i]) + "\n";
  }
  text += "#define grid_size_x " + std::to_string(launch.grid.x) + "\n";
  text += "#define grid_size_y " + std::to_string(launch.grid.y) + "\n";
  text += "#define grid_size_z " + std::to_string(launch.grid.z) + "\n";
  return text;
}

// The arguments of the call of the user's function. `pointer` names input i or output i.
template <typename Pointer>
std::string CallArguments(const KernelSpec& spec, const Pointer& pointer) {
  std::string text;
  for (const SpecArgument& argument : spec.arguments()) {
    if (!text.empty()) text += ", ";
    const std::string type(TypeText(argument.type));
    if (argument.kind == Kind::kScalar) {
      text += "(" + type + ")" + ValueText(argument.value);
      continue;
    }
    const bool reads = argument.kind == Kind::kInput;
    text +=
        "(" + std::string(reads ? "const " : "") + type + "*)" + pointer(reads, argument.operand);
  }
  return text;
}

size_t Count(const KernelSpec& spec, Kind kind) {
  size_t count = 0;
  for (const SpecArgument& argument : spec.arguments()) count += argument.kind == kind ? 1 : 0;
  return count;
}

// The user's kernels become functions of the device: one kernel calls them.
std::string CudaSource(const KernelSpec& spec, const SpecInstance& launch) {
  std::string text = ReplaceWord(spec.source(), "__global__", "__device__ __forceinline__");
  text = ReplaceWord(text, "__launch_bounds__", "MLC_NO_BOUNDS");
  std::string parameters;
  for (size_t i = 0; i < Count(spec, Kind::kInput); ++i) {
    parameters += (parameters.empty() ? "" : ", ") + ("const void* in" + std::to_string(i));
  }
  for (size_t i = 0; i < Count(spec, Kind::kOutput); ++i) {
    parameters += (parameters.empty() ? "" : ", ") + ("void* out" + std::to_string(i));
  }
  const int64_t threads = launch.block.x * launch.block.y * launch.block.z;
  const auto pointer = [](bool reads, size_t i) {
    return (reads ? "in" : "out") + std::to_string(i);
  };
  return "#define MLC_NO_BOUNDS(...)\n#line 1 \"kernel\"\n" + text +
         "\nextern \"C\" __global__ void __launch_bounds__(" + std::to_string(threads) + ") " +
         EntryOf(spec) + "(" + parameters + ") {\n  " + spec.kernel_name() + "(" +
         CallArguments(spec, pointer) + ");\n}\n";
}

std::string CSource(const KernelSpec& spec, const SpecInstance& launch) {
  const size_t inputs = Count(spec, Kind::kInput);
  const auto pointer = [&](bool reads, size_t i) {
    return "buffers[" + std::to_string(reads ? i : inputs + i) + "]";
  };
  std::string call = CallArguments(spec, pointer);
  const std::string columns = std::to_string(launch.grid.x);
  const std::string rows = std::to_string(launch.grid.x * launch.grid.y);
  return "#line 1 \"kernel\"\n" + spec.source() + "\nvoid " + EntryOf(spec) +
         "_p0(void* const* buffers, long long begin, long long end, long long thread) {\n"
         "  (void)thread;\n"
         "  for (long long i = begin; i < end; ++i) {\n    " +
         spec.kernel_name() + "((int)(i % " + columns + "), (int)(i / " + columns + " % " +
         std::to_string(launch.grid.y) + "), (int)(i / " + rows + "), " + call + ");\n  }\n}\n";
}

}  // namespace

std::string EntryOf(const KernelSpec& spec) { return "mlc_tuned_" + spec.kernel_name(); }

std::string SourceOf(const KernelSpec& spec, const std::vector<ExpressionValue>& values,
                     const SpecInstance& launch) {
  return Definitions(spec, values, launch) +
         (spec.language() == KernelLanguage::kC ? CSource(spec, launch) : CudaSource(spec, launch));
}

}  // namespace mlc::schedule
