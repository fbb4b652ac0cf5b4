#include "compiler/package/c_header.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <set>
#include <string_view>
#include <vector>

#include "compiler/package/embedded.h"

namespace mlc::package {

namespace {

std::string Upper(const std::string& name) {
  std::string upper;
  for (const char c : name) upper += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return upper;
}

int64_t BytesOf(const graph::Port& port) {
  return port.type.NumElements() * SizeOf(port.type.dtype);
}

// Whether the shape of the output depends on data.
bool IsCounted(const graph::CountedOutputs& counted, size_t output) {
  if (counted.count == 0) return false;
  return std::ranges::any_of(counted.lengths[output], [](const graph::CountedLength& length) {
    return std::ranges::any_of(length.factors, [](int64_t factor) { return factor != 0; });
  });
}

// Of one input or output at all sizes: the most bytes, and its types at the first and last sizes.
void AddPort(const Plans& plans, std::vector<graph::Port> Plan::*ports, size_t i,
             const std::string& prefix, bool is_counted, std::string& text) {
  int64_t bytes = 0;
  for (const Plan& plan : plans.plans) bytes = std::max(bytes, BytesOf((plan.*ports)[i]));
  text += "#define " + prefix + "_" + std::to_string(i) + "_BYTES " + std::to_string(bytes) +
          " /* " + (plans.plans.front().*ports)[i].type.ToText();
  if (plans.has_sizes()) text += " to " + (plans.plans.back().*ports)[i].type.ToText();
  if (is_counted) text += " at most";
  text += " */\n";
}

void AddPorts(const Plans& plans, std::vector<graph::Port> Plan::*ports, const std::string& prefix,
              size_t hidden, std::string& text) {
  const size_t count = (plans.plans.front().*ports).size() - hidden;
  text += "#define " + prefix + "_COUNT " + std::to_string(count) + "\n";
  for (size_t i = 0; i < count; ++i) {
    const bool is_counted = ports == &Plan::outputs && IsCounted(plans.plans.front().counted, i);
    AddPort(plans, ports, i, prefix, is_counted, text);
  }
}

// The number of dimensions, the number of combinations of sizes, and the sizes of each dimension.
void AddSizes(const Plans& plans, const std::string& upper, std::string& text) {
  text += "#define " + upper + "_DIM_COUNT " + std::to_string(plans.dims.size()) + "\n";
  text += "#define " + upper + "_SIZE_COUNT " + std::to_string(plans.plans.size()) + "\n";
  for (size_t d = 0; d < plans.dims.size(); ++d) {
    std::set<int64_t> sizes;
    for (const Plan& plan : plans.plans) sizes.insert(plan.sizes[d]);
    const std::string name = upper + "_DIM_" + std::to_string(d);
    std::string list;
    for (const int64_t size : sizes) list += (list.empty() ? "" : ", ") + std::to_string(size);
    const bool any = plans.ranges && plans.ranges->any_size[d];
    const int64_t least = any ? plans.ranges->least[d] : *sizes.begin();
    text += "#define " + name + "_LEAST " + std::to_string(least) + "\n";
    text += "#define " + name + "_MOST " + std::to_string(*sizes.rbegin()) +
            (any ? " /* any size; classes " : " /* of ") + list + " */\n";
  }
}

}  // namespace

std::string CHeader(const Plans& plans, std::span<const InPlacePair> in_place,
                    const std::string& name) {
  const std::string upper = Upper(name);
  std::string text = "/* A compiled model. Use: see mlc_model.h" +
                     std::string(plans.has_sizes() ? " and mlc_sizes.h" : "") + "; link with lib" +
                     name + ".so or lib" + name + ".a. */\n#ifndef " + upper + "_H_\n#define " +
                     upper + "_H_\n\n#include \"mlc_model.h\"\n" +
                     (plans.has_sizes() ? "#include \"mlc_sizes.h\"\n" : "") + "\n";
  AddPorts(plans, &Plan::inputs, upper + "_INPUT", plans.hidden_inputs(), text);
  AddPorts(plans, &Plan::outputs, upper + "_OUTPUT", plans.hidden_outputs(), text);
  for (const InPlacePair& pair : in_place) {
    text += "#define " + upper + "_OUTPUT_" + std::to_string(pair.output) + "_IN_PLACE_INPUT " +
            std::to_string(pair.input) + " /* may share its buffer */\n";
  }
  if (plans.has_sizes()) AddSizes(plans, upper, text);
  text += "\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\nextern const mlc_model_api " + name +
          "_model;\n\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n";
  return text;
}

std::string SharedHeader() { return std::string(EmbeddedModelHeader()); }

std::string SizesHeader() {
  std::string text(EmbeddedSizesHeader());
  // Beside a library, the headers lie in one folder.
  const std::string_view there = "compiler/runtime/model.h";
  text.replace(text.find(there), there.size(), "mlc_model.h");
  return text;
}

}  // namespace mlc::package
