#include "compiler/codegen/cuda/device_functions.h"

#include <vector>

#include "base/check.h"
#include "compiler/codegen/cuda/device_function_table.h"

namespace mlc::codegen {

namespace {

struct VectorType {
  std::string_view scalar;
  std::string_view cuda;    // of the built-in vector type
  std::string_view suffix;  // of the function's name
};
constexpr VectorType kVectorTypes[] = {{"float", "float", "F32x"},
                                       {"double", "double", "F64x"},
                                       {"int", "int", "I32x"},
                                       {"unsigned", "uint", "U32x"},
                                       {"long long", "longlong", "I64x"}};

std::vector<const DeviceFunction*> AllRows() {
  std::vector<const DeviceFunction*> rows;
  for (const DeviceFunction& row : ScalarDeviceFunctions()) rows.push_back(&row);
  for (const DeviceFunction& row : Float8DeviceFunctions()) rows.push_back(&row);
  for (const DeviceFunction& row : UnpackDeviceFunctions()) rows.push_back(&row);
  for (const DeviceFunction& row : WarpDeviceFunctions()) rows.push_back(&row);
  for (const DeviceFunction& row : AsyncDeviceFunctions()) rows.push_back(&row);
  for (const DeviceFunction& row : BoxDeviceFunctions()) rows.push_back(&row);
  return rows;
}

std::string VectorDefinition(Access access, std::string_view name, const VectorType& type,
                             int count) {
  const std::string vector = std::string(type.cuda) + std::to_string(count);
  const std::string scalar(type.scalar);
  std::string text =
      "void " + std::string(name) + "(" + scalar + "* to, const " + scalar + "* from)";
  if (access == Access::kLoad) {
    text += " {\n  const " + vector + " value = *(const " + vector + "*)from;\n";
    for (int i = 0; i < count; ++i) {
      text += "  to[" + std::to_string(i) + "] = value." + "xyzw"[i] + ";\n";
    }
    return text + "}";
  }
  std::string made = "make_" + vector + "(";
  for (int i = 0; i < count; ++i) {
    made += (i == 0 ? "from[" : ", from[") + std::to_string(i) + "]";
  }
  made += ')';
  const std::string to = "(" + vector + "*)to";
  if (access == Access::kStore) return text + " { *" + to + " = " + made + "; }";
  return text + " { __stcs(" + to + ", " + made + "); }";
}

}  // namespace

std::string_view DeviceFunctions::Use(std::string_view name) {
  for (const DeviceFunction* row : AllRows()) {
    if (row->name != name) continue;
    if (used_.insert(row->name).second) {
      for (const std::string_view need : row->needs) Use(need);
    }
    return row->name;
  }
  MLC_CHECK(false) << "no device function " << name;
  return {};
}

std::string DeviceFunctions::UseVector(Access access, std::string_view type, int count) {
  static constexpr std::string_view kPrefixes[] = {"Load", "Store", "StoreStreaming"};
  for (const VectorType& row : kVectorTypes) {
    if (row.scalar != type) continue;
    std::string name(kPrefixes[static_cast<size_t>(access)]);
    name += row.suffix;
    name += std::to_string(count);
    made_.try_emplace(name, VectorDefinition(access, name, row, count));
    return name;
  }
  MLC_CHECK(false) << "no vectors of " << type;
  return {};
}

std::string DeviceFunctions::UseWarpgroupMma(const WarpgroupMmaShape& shape) {
  std::string name = WarpgroupMmaName(shape);
  Use("TileDescriptor");
  made_.try_emplace(name, WarpgroupMmaDefinition(shape));
  return name;
}

std::string DeviceFunctions::ToText() const {
  std::string text;
  const auto define = [&](std::string_view definition) {
    // A template says itself where its qualifiers stand; a type has none.
    if (!definition.starts_with("template") && !definition.starts_with("struct"))
      text += "__device__ __forceinline__ ";
    text += definition;
    text += '\n';
  };
  for (const DeviceFunction* row : AllRows()) {
    if (!used_.contains(row->name)) continue;
    for (const std::string_view definition : row->definitions) define(definition);
  }
  for (const auto& [name, definition] : made_) define(definition);
  return text;
}

}  // namespace mlc::codegen
