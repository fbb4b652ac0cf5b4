#include "compiler/graph/onnx/parse.h"

#include <utility>

#include "compiler/graph/onnx/wire.h"

namespace mlc::graph::onnx {
namespace {

// Parses one file: carries the counters that bound it.
class Parser {
 public:
  explicit Parser(const ParseLimits& limits) : limits_(limits) {}

  Status Model(std::string_view bytes, ModelMessage& model);
  Status Tensor(std::string_view bytes, TensorMessage& tensor);

 private:
  Status Graph(std::string_view bytes, GraphMessage& graph);
  Status Node(std::string_view bytes, NodeMessage& node);
  Status Attribute(std::string_view bytes, AttributeMessage& attribute);
  Status AttributeValue(const WireReader& reader, AttributeMessage& attribute);
  Status Value(std::string_view bytes, ValueMessage& value);
  Status TensorType(std::string_view bytes, ValueMessage& value);
  Status Dimension(std::string_view bytes, DimMessage& dim);
  Status Function(std::string_view bytes, FunctionMessage& function);
  Status Opset(std::string_view bytes, OpsetMessage& opset);
  Status Pair(std::string_view bytes, StringPair& pair);
  // Counts one message; fails over the limit.
  Status Count();
  Status Name(std::string_view text, std::string_view& name);

  ParseLimits limits_;
  int64_t messages_ = 0;
  int64_t nodes_ = 0;
  int depth_ = 0;
};

// A repeated integer field arrives packed or one by one.
Status AppendInts(const WireReader& reader, std::vector<int64_t>& ints, size_t limit = SIZE_MAX) {
  if (reader.IsNumber()) {
    ints.push_back(reader.Signed());
  } else if (reader.IsBytes()) {
    for (std::string_view rest = reader.bytes(); !rest.empty() && ints.size() <= limit;) {
      uint64_t value = 0;
      if (!WireReader::ReadVarint(rest, value)) {
        return InvalidArgument("the file is not a valid ONNX model: a packed number is cut off");
      }
      ints.push_back(static_cast<int64_t>(value));
    }
  }
  return Status();
}

Status AppendFloats(const WireReader& reader, std::vector<float>& floats) {
  if (reader.type() == WireType::kFixed32) {
    floats.push_back(reader.Float());
  } else if (reader.IsBytes()) {
    if (reader.bytes().size() % 4 != 0) {
      return InvalidArgument("the file is not a valid ONNX model: packed floats are cut off");
    }
    for (size_t i = 0; i < reader.bytes().size(); i += 4) {
      uint32_t bits = 0;
      for (size_t k = 0; k < 4; ++k) {
        bits |= static_cast<uint32_t>(static_cast<uint8_t>(reader.bytes()[i + k])) << (8 * k);
      }
      floats.push_back(std::bit_cast<float>(bits));
    }
  }
  return Status();
}

Status Parser::Count() {
  if (++messages_ > limits_.messages) {
    return InvalidArgument("the model holds more than " + std::to_string(limits_.messages) +
                           " messages");
  }
  return Status();
}

Status Parser::Name(std::string_view text, std::string_view& name) {
  if (text.size() > limits_.name_bytes) {
    return InvalidArgument("the name " + Quote(text) + " is longer than " +
                           std::to_string(limits_.name_bytes) + " bytes");
  }
  name = text;
  return Status();
}

Status Parser::Pair(std::string_view bytes, StringPair& pair) {
  WireReader reader(bytes);
  while (reader.Next()) {
    if (!reader.IsBytes()) continue;
    if (reader.field() == 1) pair.key = reader.bytes();
    if (reader.field() == 2) pair.value = reader.bytes();
  }
  return reader.status();
}

Status Parser::Opset(std::string_view bytes, OpsetMessage& opset) {
  WireReader reader(bytes);
  while (reader.Next()) {
    if (reader.field() == 1 && reader.IsBytes()) MLC_TRY(Name(reader.bytes(), opset.domain));
    if (reader.field() == 2 && reader.IsNumber()) opset.version = reader.Signed();
  }
  return reader.status();
}

Status Parser::Tensor(std::string_view bytes, TensorMessage& tensor) {
  WireReader reader(bytes);
  while (reader.Next()) {
    const bool is_bytes = reader.IsBytes();
    switch (reader.field()) {
      case 1:
        MLC_TRY(AppendInts(reader, tensor.dims, kMaxRank));
        if (tensor.dims.size() > kMaxRank) {
          return InvalidArgument("tensor " + Quote(tensor.name) + " has more than " +
                                 std::to_string(kMaxRank) + " dimensions");
        }
        break;
      case 2:
        if (reader.IsNumber()) tensor.data_type = static_cast<int32_t>(reader.number());
        break;
      case 4:
        // An unpacked element is the four bytes before the reader's position: not kept as a view.
        if (is_bytes) tensor.float_data.push_back(reader.bytes());
        if (!is_bytes) return InvalidArgument("tensor data is not packed");
        break;
      case 5:
      case 7:
      case 11:
        MLC_TRY(AppendInts(reader, tensor.ints));
        break;
      case 6:
        ++tensor.strings;
        break;
      case 8:
        if (is_bytes) MLC_TRY(Name(reader.bytes(), tensor.name));
        break;
      case 9:
        if (is_bytes) tensor.raw = reader.bytes();
        tensor.has_raw = tensor.has_raw || is_bytes;
        break;
      case 10:
        if (is_bytes) tensor.double_data.push_back(reader.bytes());
        if (!is_bytes) return InvalidArgument("tensor data is not packed");
        break;
      case 13:
        MLC_TRY(Count());
        if (is_bytes) MLC_TRY(Pair(reader.bytes(), tensor.external_data.emplace_back()));
        break;
      case 14:
        if (reader.IsNumber()) tensor.external = reader.number() == 1;
        break;
      default:
        break;
    }
  }
  return reader.status();
}

Status Parser::Dimension(std::string_view bytes, DimMessage& dim) {
  WireReader reader(bytes);
  while (reader.Next()) {
    if (reader.field() == 1 && reader.IsNumber()) {
      dim.has_value = true;
      dim.value = reader.Signed();
    }
    if (reader.field() == 2 && reader.IsBytes()) MLC_TRY(Name(reader.bytes(), dim.param));
  }
  return reader.status();
}

Status Parser::TensorType(std::string_view bytes, ValueMessage& value) {
  value.is_tensor = true;
  WireReader reader(bytes);
  while (reader.Next()) {
    if (reader.field() == 1 && reader.IsNumber()) {
      value.elem_type = static_cast<int32_t>(reader.number());
    }
    if (reader.field() != 2 || !reader.IsBytes()) continue;
    value.has_shape = true;
    WireReader shape(reader.bytes());
    while (shape.Next()) {
      if (shape.field() != 1 || !shape.IsBytes()) continue;
      if (value.dims.size() == kMaxRank) {
        return InvalidArgument("value " + Quote(value.name) + " has more than " +
                               std::to_string(kMaxRank) + " dimensions");
      }
      MLC_TRY(Dimension(shape.bytes(), value.dims.emplace_back()));
    }
    MLC_TRY(shape.status());
  }
  return reader.status();
}

Status Parser::Value(std::string_view bytes, ValueMessage& value) {
  WireReader reader(bytes);
  while (reader.Next()) {
    if (!reader.IsBytes()) continue;
    if (reader.field() == 1) MLC_TRY(Name(reader.bytes(), value.name));
    if (reader.field() != 2) continue;
    WireReader type(reader.bytes());
    while (type.Next()) {
      if (type.field() == 1 && type.IsBytes()) MLC_TRY(TensorType(type.bytes(), value));
    }
    MLC_TRY(type.status());
  }
  return reader.status();
}

Status Parser::AttributeValue(const WireReader& reader, AttributeMessage& attribute) {
  const bool is_bytes = reader.IsBytes();
  switch (reader.field()) {
    case 2:
      attribute.f = reader.Float();
      break;
    case 3:
      attribute.i = reader.Signed();
      break;
    case 4:
      if (is_bytes) attribute.s = reader.bytes();
      break;
    case 5: {
      auto tensor = std::make_shared<TensorMessage>();
      if (is_bytes) MLC_TRY(Tensor(reader.bytes(), *tensor));
      attribute.tensor = std::move(tensor);
      break;
    }
    case 6: {
      if (depth_ == limits_.depth) {
        return InvalidArgument("subgraphs are nested more than " + std::to_string(limits_.depth) +
                               " deep");
      }
      ++depth_;
      auto graph = std::make_shared<GraphMessage>();
      if (is_bytes) MLC_TRY(Graph(reader.bytes(), *graph));
      attribute.graph = std::move(graph);
      --depth_;
      break;
    }
    case 7:
      return AppendFloats(reader, attribute.floats);
    case 8:
      return AppendInts(reader, attribute.ints);
    case 9:
      if (is_bytes) attribute.strings.push_back(reader.bytes());
      break;
    default:
      break;
  }
  return Status();
}

Status Parser::Attribute(std::string_view bytes, AttributeMessage& attribute) {
  MLC_TRY(Count());
  WireReader reader(bytes);
  AttrKind guess = AttrKind::kNone;
  while (reader.Next()) {
    const uint32_t field = reader.field();
    if (field == 1 && reader.IsBytes()) MLC_TRY(Name(reader.bytes(), attribute.name));
    if (field == 21 && reader.IsBytes()) MLC_TRY(Name(reader.bytes(), attribute.ref));
    if (field == 20 && reader.IsNumber()) attribute.kind = static_cast<AttrKind>(reader.number());
    if (field >= 2 && field <= 9) {
      guess = static_cast<AttrKind>(field - 1);
      MLC_TRY(AttributeValue(reader, attribute));
    }
  }
  // Files before IR version 2 leave the kind out: the field that is present tells it.
  if (attribute.kind == AttrKind::kNone) attribute.kind = guess;
  return reader.status();
}

Status Parser::Node(std::string_view bytes, NodeMessage& node) {
  MLC_TRY(Count());
  if (++nodes_ > limits_.nodes) {
    return InvalidArgument("the model has more than " + std::to_string(limits_.nodes) + " nodes");
  }
  WireReader reader(bytes);
  while (reader.Next()) {
    if (!reader.IsBytes()) continue;
    const std::string_view text = reader.bytes();
    switch (reader.field()) {
      case 1:
        MLC_TRY(Count());
        MLC_TRY(Name(text, node.inputs.emplace_back()));
        break;
      case 2:
        MLC_TRY(Count());
        MLC_TRY(Name(text, node.outputs.emplace_back()));
        break;
      case 3:
        MLC_TRY(Name(text, node.name));
        break;
      case 4:
        MLC_TRY(Name(text, node.op_type));
        break;
      case 5:
        MLC_TRY(Attribute(text, node.attributes.emplace_back()));
        break;
      case 7:
        MLC_TRY(Name(text, node.domain));
        break;
      case 8:
        MLC_TRY(Name(text, node.overload));
        break;
      default:
        break;
    }
  }
  MLC_TRY(reader.status());
  if (node.op_type.empty()) {
    return InvalidArgument("node " + Quote(node.name) + " has no operator");
  }
  return Status();
}

Status Parser::Graph(std::string_view bytes, GraphMessage& graph) {
  WireReader reader(bytes);
  while (reader.Next()) {
    if (!reader.IsBytes()) continue;
    switch (reader.field()) {
      case 1:
        MLC_TRY(Node(reader.bytes(), graph.nodes.emplace_back()));
        break;
      case 5:
        MLC_TRY(Count());
        MLC_TRY(Tensor(reader.bytes(), graph.initializers.emplace_back()));
        break;
      case 15:
        ++graph.sparse_initializers;
        break;
      case 11:
        MLC_TRY(Count());
        MLC_TRY(Value(reader.bytes(), graph.inputs.emplace_back()));
        break;
      case 12:
        MLC_TRY(Count());
        MLC_TRY(Value(reader.bytes(), graph.outputs.emplace_back()));
        break;
      default:
        break;
    }
  }
  return reader.status();
}

Status Parser::Function(std::string_view bytes, FunctionMessage& function) {
  MLC_TRY(Count());
  WireReader reader(bytes);
  while (reader.Next()) {
    if (!reader.IsBytes()) continue;
    const std::string_view text = reader.bytes();
    switch (reader.field()) {
      case 1:
        MLC_TRY(Name(text, function.name));
        break;
      case 4:
        MLC_TRY(Name(text, function.inputs.emplace_back()));
        break;
      case 5:
        MLC_TRY(Name(text, function.outputs.emplace_back()));
        break;
      case 7:
        MLC_TRY(Node(text, function.nodes.emplace_back()));
        break;
      case 9:
        MLC_TRY(Opset(text, function.opsets.emplace_back()));
        break;
      case 10:
        MLC_TRY(Name(text, function.domain));
        break;
      case 11:
        MLC_TRY(Attribute(text, function.defaults.emplace_back()));
        break;
      case 13:
        MLC_TRY(Name(text, function.overload));
        break;
      default:
        break;
    }
  }
  return reader.status();
}

Status Parser::Model(std::string_view bytes, ModelMessage& model) {
  WireReader reader(bytes);
  while (reader.Next()) {
    switch (reader.field()) {
      case 1:
        if (reader.IsNumber()) model.ir_version = reader.Signed();
        break;
      case 7:
        if (!reader.IsBytes()) break;
        if (model.has_graph) return InvalidArgument("the model holds two graphs");
        model.has_graph = true;
        MLC_TRY(Graph(reader.bytes(), model.graph));
        break;
      case 8:
        MLC_TRY(Count());
        if (reader.IsBytes()) MLC_TRY(Opset(reader.bytes(), model.opsets.emplace_back()));
        break;
      case 25:
        if (reader.IsBytes()) MLC_TRY(Function(reader.bytes(), model.functions.emplace_back()));
        break;
      default:
        break;
    }
  }
  return reader.status();
}

}  // namespace

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

Result<ModelMessage> ParseModel(std::string_view bytes, const ParseLimits& limits) {
  ModelMessage model;
  MLC_TRY(Parser(limits).Model(bytes, model));
  if (!model.has_graph) return InvalidArgument("the file is not a valid ONNX model: no graph");
  return model;
}

Result<TensorMessage> ParseTensor(std::string_view bytes) {
  TensorMessage tensor;
  MLC_TRY(Parser(ParseLimits{}).Tensor(bytes, tensor));
  return tensor;
}

}  // namespace mlc::graph::onnx
