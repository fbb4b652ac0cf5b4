#include "client/model/constants.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>
#include <utility>

#include "client/model/tensor_files.h"
#include "compiler/graph/onnx/import.h"
#include "compiler/graph/tensor_io.h"

namespace mlc::client {
namespace {

using graph::TensorDataRef;
using graph::onnx::DeclaredInput;

std::vector<std::string_view> SplitByCommas(std::string_view text) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    parts.push_back(text.substr(0, comma));
    if (comma + 1 == text.size()) parts.emplace_back();
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return parts;
}

template <typename T>
bool Parse(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

bool ParseInteger(DType dtype, std::string_view text, int64_t& value) {
  uint64_t bits = 0;
  if (dtype != DType::kU64) return Parse(text, value);
  if (!Parse(text, bits)) return false;
  value = static_cast<int64_t>(bits);
  return true;
}

// One element; null if the text is no number of the type.
TensorDataRef ElementOf(DType dtype, std::string_view text) {
  if (IsFloat(dtype)) {
    double value = 0;
    if (!Parse(text, value)) return nullptr;
    const TensorDataRef data = graph::WriteDoubles(dtype, {}, {&value, 1});
    const bool overflows = std::isfinite(value) && !std::isfinite(graph::ReadDouble(*data, 0));
    return overflows ? nullptr : data;
  }
  int64_t value = 0;
  if (dtype == DType::kBool && (text == "true" || text == "false")) {
    value = text == "true" ? 1 : 0;
  } else if (!ParseInteger(dtype, text, value)) {
    return nullptr;
  }
  const TensorDataRef data = graph::WriteInts(dtype, {}, {&value, 1});
  return graph::ReadInt(*data, 0) == value ? data : nullptr;
}

// The shape of `count` numbers; one dimension that the model does not fix follows from it.
Result<std::vector<int64_t>> ShapeOf(const DeclaredInput& input, int64_t count) {
  if (!input.dims) return std::vector<int64_t>{count};
  std::vector<int64_t> dims = *input.dims;
  int64_t known = 1;
  int64_t* open = nullptr;
  for (int64_t& dim : dims) {
    if (dim >= 0) {
      known *= dim;
    } else if (open == nullptr) {
      open = &dim;
    } else {
      return InvalidArgument("its shape has several dimensions of any size: give a file");
    }
  }
  if (open != nullptr && known > 0 && count % known == 0) {
    *open = count / known;
    known = count;
  }
  if (open != nullptr && *open < 0) *open = 0;
  if (known == count) return dims;
  return InvalidArgument("it has " + std::to_string(count) + " numbers, its shape needs " +
                         (open == nullptr ? "" : "a multiple of ") + std::to_string(known));
}

Result<TensorDataRef> TensorOf(const DeclaredInput& input, const std::string& values) {
  if (values.ends_with(".npy") || values.ends_with(".pb")) return ReadTensor(values);
  std::vector<std::byte> bytes;
  const std::vector<std::string_view> parts = SplitByCommas(values);
  for (const std::string_view part : parts) {
    const TensorDataRef element = ElementOf(input.dtype, part);
    if (element == nullptr) {
      return InvalidArgument("'" + std::string(part) + "' is no number of type " +
                             std::string(ToText(input.dtype)));
    }
    bytes.insert(bytes.end(), element->bytes.begin(), element->bytes.end());
  }
  std::vector<int64_t> dims = MLC_TRY(ShapeOf(input, static_cast<int64_t>(parts.size())));
  return graph::MakeTensorData(input.dtype, std::move(dims), std::move(bytes));
}

// The '=' of NAME=VALUES. Names and paths may contain others: the longest name that the model has
// counts. npos: there is no name.
size_t EndOfName(const std::string& argument, const std::vector<DeclaredInput>& inputs) {
  for (size_t at = argument.rfind('='); at != std::string::npos && at > 0;
       at = argument.rfind('=', at - 1)) {
    const std::string_view name = std::string_view(argument).substr(0, at);
    if (std::ranges::find(inputs, name, &DeclaredInput::name) != inputs.end()) return at;
  }
  const size_t at = argument.find('=');
  return at == 0 ? std::string::npos : at;
}

}  // namespace

Result<Constants> ReadConstants(const std::string& model,
                                const std::vector<std::string>& arguments) {
  Constants constants;
  if (arguments.empty()) return constants;
  const std::vector<DeclaredInput> inputs = MLC_TRY(graph::onnx::DeclaredInputs(model));
  for (const std::string& argument : arguments) {
    const size_t at = EndOfName(argument, inputs);
    if (at == std::string::npos) {
      return InvalidArgument(
          "--constant takes NAME=VALUES with numbers separated by commas or an "
          ".npy or .pb file, not '" +
          argument + "'");
    }
    const std::string name = argument.substr(0, at);
    const std::string what = "--constant " + name;
    const auto input = std::ranges::find(inputs, name, &DeclaredInput::name);
    if (input == inputs.end()) {
      std::string known;
      for (const DeclaredInput& other : inputs) known += (known.empty() ? "" : ", ") + other.name;
      return InvalidArgument(what + ": the model has no such input, but " + known);
    }
    if (constants.contains(name)) return InvalidArgument(what + " is given twice");
    Result<TensorDataRef> tensor = TensorOf(*input, argument.substr(at + 1));
    if (!tensor.ok()) return tensor.status().WithPrefix(what);
    constants[name] = *std::move(tensor);
  }
  return constants;
}

}  // namespace mlc::client
