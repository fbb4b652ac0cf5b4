#include "compiler/front/same_constants.h"

#include <cstring>
#include <functional>
#include <optional>
#include <utility>

#include "compiler/graph/onnx/file.h"

namespace mlc::front {

namespace {

// The file that the bytes lie in, and where; empty: they are the importer's.
std::optional<std::pair<size_t, size_t>> PlaceInFile(const Model& model,
                                                     const graph::TensorData& data) {
  const auto* begin = reinterpret_cast<const char*>(data.bytes.data());
  for (size_t i = 0; i < model.files.size(); ++i) {
    const std::string_view file = model.files[i]->bytes();
    const bool before = std::less<>()(begin, file.data());
    if (before || !std::less<>()(begin, file.data() + file.size())) continue;
    return std::pair(i, static_cast<size_t>(begin - file.data()));
  }
  return std::nullopt;
}

}  // namespace

graph::SameConstants SameOfFiles(const Model& a, const Model& b) {
  return [&](const graph::TensorData& x, const graph::TensorData& y) {
    if (x.bytes.size() != y.bytes.size()) return false;
    const auto place = PlaceInFile(a, x);
    if (place && place == PlaceInFile(b, y)) return true;
    return std::memcmp(x.bytes.data(), y.bytes.data(), x.bytes.size()) == 0;
  };
}

}  // namespace mlc::front
