#include "compiler/graph/onnx/op_context.h"

#include <utility>

namespace mlc::graph::onnx {

ValueId OpContext::In(int i) {
  if (Has(i)) return operands_[static_cast<size_t>(i)];
  const bool is_sequence = Sequences::Is(AnyOperand(*this, i));
  Fail("operand " + std::to_string(i) +
       (is_sequence ? " is a sequence, where a tensor is needed" : " is missing"));
  return kNoValue;
}

Dims OpContext::IntsIn(int i) { return b.Ints(In(i), "operand " + std::to_string(i)); }

bool OpContext::HasAttr(std::string_view name) const {
  for (const AttributeMessage& attribute : node_.attributes) {
    if (attribute.name == name) return true;
  }
  return false;
}

TensorDataRef OpContext::DataIn(int i) {
  return Has(i) ? b.Data(In(i), "operand " + std::to_string(i)) : nullptr;
}

const AttributeMessage* OpContext::Attr(std::string_view name, AttrKind kind) {
  for (const AttributeMessage& attribute : node_.attributes) {
    if (attribute.name != name) continue;
    if (attribute.kind == kind) return &attribute;
    Fail("attribute '" + std::string(name) + "' has the wrong type");
    return nullptr;
  }
  return nullptr;
}

int64_t OpContext::Int(std::string_view name, int64_t fallback) {
  const AttributeMessage* const attribute = Attr(name, AttrKind::kInt);
  return attribute == nullptr ? fallback : attribute->i;
}

bool OpContext::Flag(std::string_view name, bool fallback) {
  const int64_t value = Int(name, fallback ? 1 : 0);
  if (value != 0 && value != 1) {
    Fail("attribute '" + std::string(name) + "' is " + std::to_string(value) +
         ": it must be 0 or 1");
  }
  return value == 1;
}

int64_t OpContext::RequiredInt(std::string_view name) {
  if (!HasAttr(name)) Fail("attribute '" + std::string(name) + "' is missing");
  return Int(name, 0);
}

double OpContext::Float(std::string_view name, double fallback) {
  const AttributeMessage* const attribute = Attr(name, AttrKind::kFloat);
  return attribute == nullptr ? fallback : static_cast<double>(attribute->f);
}

std::string OpContext::Text(std::string_view name, std::string_view fallback) {
  const AttributeMessage* const attribute = Attr(name, AttrKind::kString);
  return std::string(attribute == nullptr ? fallback : attribute->s);
}

Dims OpContext::Ints(std::string_view name, const Dims& fallback) {
  const AttributeMessage* const attribute = Attr(name, AttrKind::kInts);
  return attribute == nullptr ? fallback : attribute->ints;
}

std::vector<double> OpContext::Floats(std::string_view name) {
  const AttributeMessage* const attribute = Attr(name, AttrKind::kFloats);
  if (attribute == nullptr) return {};
  return {attribute->floats.begin(), attribute->floats.end()};
}

TensorDataRef OpContext::Tensor(std::string_view name) {
  const AttributeMessage* const attribute = Attr(name, AttrKind::kTensor);
  if (attribute == nullptr || attribute->tensor == nullptr) {
    Fail("attribute '" + std::string(name) + "' is missing");
    return nullptr;
  }
  Result<TensorDataRef> data = read_tensor_(importer_, *attribute->tensor);
  if (data.ok()) return *std::move(data);
  b.Fail(data.status());
  return nullptr;
}

void OpContext::Out(ValueId value, int k) {
  if (k < OutputCount()) results_[static_cast<size_t>(k)] = value;
}

}  // namespace mlc::graph::onnx
