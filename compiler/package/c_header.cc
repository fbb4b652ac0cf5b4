#include "compiler/package/c_header.h"

#include <cctype>

#include "compiler/package/embedded.h"

namespace mlc::package {

namespace {

std::string Upper(const std::string& name) {
  std::string upper;
  for (const char c : name) upper += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return upper;
}

void AddPorts(const std::vector<graph::Port>& ports, const std::string& prefix, std::string& text) {
  text += "#define " + prefix + "_COUNT " + std::to_string(ports.size()) + "\n";
  for (size_t i = 0; i < ports.size(); ++i) {
    const graph::TensorType& type = ports[i].type;
    const std::string name = prefix + "_" + std::to_string(i);
    text += "#define " + name + "_BYTES " +
            std::to_string(type.NumElements() * SizeOf(type.dtype)) + " /* " + type.ToText() +
            " */\n";
  }
}

}  // namespace

std::string CHeader(const graph::Program& program, const std::string& name) {
  const std::string upper = Upper(name);
  std::string text = "/* A compiled model. Use: see mlc_model.h; link with lib" + name +
                     ".so or lib" + name + ".a. */\n#ifndef " + upper + "_H_\n#define " + upper +
                     "_H_\n\n#include \"mlc_model.h\"\n\n";
  AddPorts(program.inputs, upper + "_INPUT", text);
  AddPorts(program.outputs, upper + "_OUTPUT", text);
  text += "\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\nextern const mlc_model_api " + name +
          "_model;\n\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n";
  return text;
}

std::string SharedHeader() { return std::string(EmbeddedModelHeader()); }

}  // namespace mlc::package
