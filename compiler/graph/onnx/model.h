// The messages of an ONNX file that the importer reads, as plain values. Text and raw data are
// views into the mapped file and live as long as it does. Field numbers are in parse.cc and
// read_*.cc.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "compiler/graph/onnx/onnx_type.h"

namespace mlc::graph::onnx {

struct StringPair {
  std::string_view key;
  std::string_view value;
};

struct TensorMessage {
  std::string_view name;
  std::vector<int64_t> dims;
  int32_t data_type = kUndefined;
  bool has_raw = false;
  std::string_view raw;
  std::vector<std::string_view> float_data;   // little-endian chunks of 4 bytes an element
  std::vector<std::string_view> double_data;  // little-endian chunks of 8 bytes an element
  std::vector<int64_t> ints;                  // int32_data, int64_data and uint64_data
  size_t strings = 0;                         // number of string_data entries
  bool external = false;
  std::vector<StringPair> external_data;
  // Names of the fields that hold data, in the order of the file; raw_data of no bytes holds none.
  std::vector<std::string_view> filled;
};

struct DimMessage {
  bool has_value = false;
  int64_t value = 0;
  std::string_view param;
};

struct ValueMessage {
  std::string_view name;
  bool is_tensor = false;
  bool has_shape = false;
  int32_t elem_type = kUndefined;
  std::vector<DimMessage> dims;
};

struct GraphMessage;

// AttributeProto.AttributeType.
enum class AttrKind : int32_t {
  kNone = 0,
  kFloat = 1,
  kInt = 2,
  kString = 3,
  kTensor = 4,
  kGraph = 5,
  kFloats = 6,
  kInts = 7,
  kStrings = 8,
};

struct AttributeMessage {
  std::string_view name;
  std::string_view ref;  // in a function body: the attribute of the call that gives the value
  AttrKind kind = AttrKind::kNone;
  float f = 0;
  int64_t i = 0;
  std::string_view s;
  std::shared_ptr<const TensorMessage> tensor;
  std::shared_ptr<const GraphMessage> graph;
  std::vector<float> floats;
  std::vector<int64_t> ints;
  std::vector<std::string_view> strings;
};

struct NodeMessage {
  std::string_view name;
  std::string_view op_type;
  std::string_view domain;
  std::string_view overload;
  std::vector<std::string_view> inputs;
  std::vector<std::string_view> outputs;
  std::vector<AttributeMessage> attributes;
};

struct GraphMessage {
  std::vector<NodeMessage> nodes;
  std::vector<TensorMessage> initializers;
  size_t sparse_initializers = 0;
  std::vector<ValueMessage> inputs;
  std::vector<ValueMessage> outputs;
  std::vector<ValueMessage> values;  // value_info, if asked for (ParseLimits)
};

struct OpsetMessage {
  std::string_view domain;
  int64_t version = 0;
};

struct FunctionMessage {
  std::string_view name;
  std::string_view domain;
  std::string_view overload;
  std::vector<std::string_view> inputs;
  std::vector<std::string_view> outputs;
  std::vector<AttributeMessage> defaults;
  std::vector<NodeMessage> nodes;
  std::vector<OpsetMessage> opsets;
};

struct ModelMessage {
  int64_t ir_version = 0;
  std::vector<OpsetMessage> opsets;
  bool has_graph = false;
  GraphMessage graph;
  std::vector<FunctionMessage> functions;
};

// Text of a model, escaped for a one-line message: printable ASCII, at most 80 characters.
std::string Printable(std::string_view text);
// The same in single quotes.
std::string Quote(std::string_view text);

}  // namespace mlc::graph::onnx
