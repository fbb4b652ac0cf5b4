// Writes tiny ONNX models in the wire format, so that tests need neither protobuf nor files from
// elsewhere. Every function returns the bytes of one message; fields are concatenated.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace mlc::graph::onnx::wire {

inline std::string Varint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(0x80 | (value & 0x7f));
  bytes += static_cast<char>(value);
  return bytes;
}

inline std::string Number(uint32_t field, int64_t value) {
  return Varint(uint64_t{field} << 3) + Varint(static_cast<uint64_t>(value));
}

inline std::string Bytes(uint32_t field, std::string_view value) {
  return Varint(uint64_t{field} << 3 | 2) + Varint(value.size()) + std::string(value);
}

inline std::string Float(uint32_t field, float value) {
  std::string bytes(4, '\0');
  std::memcpy(bytes.data(), &value, 4);
  return Varint(uint64_t{field} << 3 | 5) + bytes;
}

template <typename T>
std::string Raw(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

// A TensorProto; `data_type` as in ONNX (1 f32, 7 i64, ...).
inline std::string Tensor(std::string_view name, int32_t data_type,
                          const std::vector<int64_t>& dims, std::string_view raw) {
  std::string bytes;
  for (const int64_t dim : dims) bytes += Number(1, dim);
  return bytes + Number(2, data_type) + Bytes(8, name) + Bytes(9, raw);
}

inline std::string FloatTensor(std::string_view name, const std::vector<int64_t>& dims,
                               const std::vector<float>& values) {
  return Tensor(name, 1, dims, Raw(values));
}

inline std::string IntTensor(std::string_view name, const std::vector<int64_t>& values) {
  return Tensor(name, 7, {static_cast<int64_t>(values.size())}, Raw(values));
}

// A dimension: a size, or a name.
inline std::string Dim(int64_t size) { return Bytes(1, Number(1, size)); }
inline std::string Dim(std::string_view name) { return Bytes(1, Bytes(2, name)); }

// A ValueInfoProto of the given dimensions' concatenation.
inline std::string ValueInfo(std::string_view name, int32_t elem_type, const std::string& dims) {
  return Bytes(1, name) + Bytes(2, Bytes(1, Number(1, elem_type) + Bytes(2, dims)));
}

inline std::string FloatValue(std::string_view name, const std::vector<int64_t>& dims) {
  std::string shape;
  for (const int64_t dim : dims) shape += Dim(dim);
  return ValueInfo(name, 1, shape);
}

inline std::string IntAttr(std::string_view name, int64_t value) {
  return Bytes(5, Bytes(1, name) + Number(3, value) + Number(20, 2));
}
inline std::string FloatAttr(std::string_view name, float value) {
  return Bytes(5, Bytes(1, name) + Float(2, value) + Number(20, 1));
}
inline std::string TextAttr(std::string_view name, std::string_view value) {
  return Bytes(5, Bytes(1, name) + Bytes(4, value) + Number(20, 3));
}
inline std::string IntsAttr(std::string_view name, const std::vector<int64_t>& values) {
  std::string bytes = Bytes(1, name) + Number(20, 7);
  for (const int64_t value : values) bytes += Number(8, value);
  return Bytes(5, bytes);
}
inline std::string TextsAttr(std::string_view name, const std::vector<std::string>& values) {
  std::string bytes = Bytes(1, name) + Number(20, 8);
  for (const std::string& value : values) bytes += Bytes(9, value);
  return Bytes(5, bytes);
}
inline std::string TensorAttr(std::string_view name, const std::string& tensor) {
  return Bytes(5, Bytes(1, name) + Bytes(5, tensor) + Number(20, 4));
}
inline std::string GraphAttr(std::string_view name, const std::string& graph) {
  return Bytes(5, Bytes(1, name) + Bytes(6, graph) + Number(20, 5));
}
// In a function: the value of the call's attribute `ref`.
inline std::string RefAttr(std::string_view name, std::string_view ref, int64_t kind) {
  return Bytes(5, Bytes(1, name) + Bytes(21, ref) + Number(20, kind));
}

// A NodeProto with the concatenated attributes.
inline std::string Node(std::string_view op, const std::vector<std::string>& inputs,
                        const std::vector<std::string>& outputs, const std::string& attributes = {},
                        std::string_view domain = {}) {
  std::string bytes;
  for (const std::string& input : inputs) bytes += Bytes(1, input);
  for (const std::string& output : outputs) bytes += Bytes(2, output);
  bytes += Bytes(4, op) + attributes;
  if (!domain.empty()) bytes += Bytes(7, domain);
  return bytes;
}

// A GraphProto field by field.
struct GraphParts {
  std::vector<std::string> nodes;
  std::vector<std::string> initializers;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;

  std::string Write() const {
    std::string bytes;
    for (const std::string& node : nodes) bytes += Bytes(1, node);
    for (const std::string& tensor : initializers) bytes += Bytes(5, tensor);
    for (const std::string& input : inputs) bytes += Bytes(11, input);
    for (const std::string& output : outputs) bytes += Bytes(12, output);
    return bytes;
  }
};

inline std::string Opset(std::string_view domain, int64_t version) {
  return Bytes(1, domain) + Number(2, version);
}

// A ModelProto; `more` holds further fields, such as functions.
inline std::string Model(const GraphParts& graph, int64_t opset = 18,
                         const std::string& more = {}) {
  return Number(1, 8) + Bytes(7, graph.Write()) + Bytes(8, Opset("", opset)) + more;
}

}  // namespace mlc::graph::onnx::wire
