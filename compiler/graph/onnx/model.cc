#include "compiler/graph/onnx/model.h"

namespace mlc::graph::onnx {

std::string Printable(std::string_view text) {
  constexpr size_t kShown = 80;
  std::string printable;
  for (const char c : text.substr(0, kShown)) {
    printable += c >= 0x20 && c < 0x7f && c != '\'' ? c : '?';
  }
  return text.size() > kShown ? printable + "..." : printable;
}

std::string Quote(std::string_view text) {
  std::string quoted(1, '\'');
  quoted += Printable(text);
  quoted += '\'';
  return quoted;
}

}  // namespace mlc::graph::onnx
