#include <cstring>

#include "base/text.h"
#include "compiler/graph/graph.h"
#include "compiler/graph/ops.h"
#include "compiler/graph/tensor_io.h"

namespace mlc::graph {

namespace {

std::string FloatListToText(const std::vector<double>& values) {
  std::string text = "[";
  for (const double value : values) {
    if (text.size() > 1) text += ',';
    text += FloatToText(value);
  }
  return text + "]";
}

void AppendId(ValueId id, std::string& text) {
  text += '%';
  text += std::to_string(id);
}

struct AttrPrinter {
  std::string operator()(int64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const { return FloatToText(value); }
  std::string operator()(const std::string& value) const { return value; }
  std::string operator()(const std::vector<int64_t>& value) const { return IntListToText(value); }
  std::string operator()(const std::vector<double>& value) const { return FloatListToText(value); }
};

std::string DataToText(const TensorData& data) {
  int64_t count = 1;
  for (const int64_t dim : data.dims) count *= dim;
  if (count > kMaxInlineValues) return "data=x" + DigestOf(data.bytes).ToText();
  if (IsFloat(data.dtype)) return "values=" + FloatListToText(ReadDoubles(data));
  return "values=" + IntListToText(ReadInts(data));
}

void AppendLine(const Value& value, ValueId id, std::string& text) {
  text += "  ";
  AppendId(id, text);
  text += " = ";
  text += value.op == Op::kPointwise ? InfoOf(value.scalar).name : InfoOf(value.op).name;
  text += '(';
  for (size_t i = 0; i < value.operands.size(); ++i) {
    if (i > 0) text += ", ";
    if (value.operands[i] == kNoValue) {
      text += '_';
    } else {
      AppendId(value.operands[i], text);
    }
  }
  text += ')';
  std::string attrs;
  if (value.data) attrs = DataToText(*value.data);
  for (const auto& [key, attr] : value.attrs) {
    if (!attrs.empty()) attrs += ", ";
    attrs += key + "=" + std::visit(AttrPrinter{}, attr);
  }
  if (!attrs.empty()) text += " {" + attrs + "}";
  text += " : " + value.type.ToText() + "\n";
}

}  // namespace

std::string Graph::ToText() const {
  std::string text = "graph v1 {\n";
  for (ValueId id = 0; id < size(); ++id) AppendLine((*this)[id], id, text);
  text += "  return ";
  for (size_t i = 0; i < outputs_.size(); ++i) {
    if (i > 0) text += ", ";
    AppendId(outputs_[i], text);
  }
  return text + "\n}\n";
}

}  // namespace mlc::graph
