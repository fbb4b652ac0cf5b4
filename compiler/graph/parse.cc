#include <algorithm>

#include "base/text.h"
#include "compiler/graph/ops.h"
#include "compiler/graph/parse.h"
#include "compiler/graph/tensor_io.h"

namespace mlc::graph {

namespace {

constexpr size_t kMaxOperands = 4096;

Result<std::vector<double>> ParseFloats(Lexer& lexer) {
  MLC_TRY(lexer.Expect("["));
  std::vector<double> values;
  if (lexer.Accept("]")) return values;
  do {
    values.push_back(MLC_TRY(lexer.Float()));
  } while (lexer.Accept(","));
  MLC_TRY(lexer.Expect("]"));
  return values;
}

Result<TensorType> ParseType(Lexer& lexer) {
  TensorType type;
  const std::string dtype = MLC_TRY(lexer.Word());
  Result<DType> parsed = ParseDType(dtype);
  if (!parsed.ok()) return lexer.Error(parsed.status().message());
  type.dtype = *parsed;
  type.dims = MLC_TRY(lexer.IntList());
  if (lexer.Accept("{")) {
    if (!lexer.Accept("}")) {
      do {
        type.strides.push_back(MLC_TRY(lexer.Int()));
      } while (lexer.Accept(","));
      MLC_TRY(lexer.Expect("}"));
    }
    if (type.strides.empty() || type.strides.size() != type.dims.size()) {
      return lexer.Error("one stride per dimension is needed");
    }
  }
  return type;
}

// Fills `to` in place: sanitized builds of GCC 12 warn about variants moved through a Result.
Status ParseAttr(Lexer& lexer, AttrKind kind, AttrValue& to) {
  switch (kind) {
    case AttrKind::kInt:
      to.emplace<int64_t>(MLC_TRY(lexer.Int()));
      return {};
    case AttrKind::kFloat:
      to.emplace<double>(MLC_TRY(lexer.Float()));
      return {};
    case AttrKind::kWord:
      to.emplace<std::string>(MLC_TRY(lexer.Word()));
      return {};
    case AttrKind::kInts:
      to.emplace<std::vector<int64_t>>(MLC_TRY(lexer.IntList()));
      return {};
    case AttrKind::kFloats:
      to.emplace<std::vector<double>>(MLC_TRY(ParseFloats(lexer)));
      return {};
  }
  return lexer.Error("unknown kind of attribute");
}

// Elements of a constant as written between brackets, before its type is known.
struct InlineValues {
  bool present = false;
  std::vector<double> floats;
  std::vector<int64_t> ints;
  bool all_ints = true;
};

Status ParseInline(Lexer& lexer, InlineValues& inline_values) {
  inline_values.present = true;
  Lexer lookahead = lexer;
  if (Result<std::vector<int64_t>> ints = lookahead.IntList(); ints.ok()) {
    inline_values.ints = *std::move(ints);
    lexer = lookahead;
    return {};
  }
  inline_values.all_ints = false;
  inline_values.floats = MLC_TRY(ParseFloats(lexer));
  return {};
}

Status ParseAttrs(Lexer& lexer, Value& value, InlineValues& inline_values) {
  if (!lexer.Accept("{")) return {};
  do {
    const std::string key = MLC_TRY(lexer.Word());
    MLC_TRY(lexer.Expect("="));
    if (value.op == Op::kConstant && key == "values") {
      if (inline_values.present) return lexer.Error("attribute 'values' is given twice");
      MLC_TRY(ParseInline(lexer, inline_values));
      continue;
    }
    const AttrInfo* info = FindAttr(value.op, key);
    if (info == nullptr) {
      return lexer.Error("operator '" + std::string(ToText(value.op)) + "' has no attribute '" +
                         key + "'");
    }
    if (value.Has(key)) return lexer.Error("attribute '" + key + "' is given twice");
    MLC_TRY(ParseAttr(lexer, info->kind, value.attrs[key]));
  } while (lexer.Accept(","));
  return lexer.Expect("}");
}

Status SetInline(const Lexer& lexer, const InlineValues& inline_values, Value& value) {
  const size_t count =
      inline_values.all_ints ? inline_values.ints.size() : inline_values.floats.size();
  int64_t expected = 1;
  for (const int64_t dim : value.type.dims) {
    if (dim < 0 || dim > kMaxInlineValues) return lexer.Error("too large for inline values");
    expected *= dim;
    if (expected > kMaxInlineValues) return lexer.Error("too large for inline values");
  }
  if (static_cast<int64_t>(count) != expected) {
    return lexer.Error("the number of values does not fit the type");
  }
  if (inline_values.all_ints) {
    value.data = WriteInts(value.type.dtype, value.type.dims, inline_values.ints);
  } else if (IsFloat(value.type.dtype)) {
    value.data = WriteDoubles(value.type.dtype, value.type.dims, inline_values.floats);
  } else {
    return lexer.Error("values of an integer constant must be integers");
  }
  return {};
}

Result<ValueId> ParseId(Lexer& lexer, int limit) {
  MLC_TRY(lexer.Expect("%"));
  const int64_t id = MLC_TRY(lexer.Int());
  if (id < 0 || id >= limit) return lexer.Error("value is not defined before its use");
  return static_cast<ValueId>(id);
}

Status ParseOperands(Lexer& lexer, const Graph& graph, Value& value) {
  MLC_TRY(lexer.Expect("("));
  if (lexer.Accept(")")) return {};
  do {
    if (value.operands.size() == kMaxOperands) return lexer.Error("too many operands");
    const bool absent = lexer.Accept("_");
    value.operands.push_back(absent ? kNoValue : MLC_TRY(ParseId(lexer, graph.size())));
  } while (lexer.Accept(","));
  return lexer.Expect(")");
}

Status ParseLine(Lexer& lexer, int most_values, Graph& graph) {
  if (graph.size() == most_values) {
    return lexer.Error("too many values: at most " + std::to_string(most_values) + " are taken");
  }
  MLC_TRY(lexer.Expect("%"));
  if (MLC_TRY(lexer.Int()) != graph.size()) return lexer.Error("values are numbered in order");
  MLC_TRY(lexer.Expect("="));
  Value value;
  const std::string name = MLC_TRY(lexer.Word());
  if (const std::optional<Op> op = FindOp(name)) {
    value.op = *op;
  } else if (const Result<ScalarOp> scalar = ParseScalarOp(name); scalar.ok()) {
    value.op = Op::kPointwise;
    value.scalar = *scalar;
  } else {
    return lexer.Error("unknown operator '" + name + "'");
  }
  MLC_TRY(ParseOperands(lexer, graph, value));
  InlineValues inline_values;
  MLC_TRY(ParseAttrs(lexer, value, inline_values));
  MLC_TRY(lexer.Expect(":"));
  value.type = MLC_TRY(ParseType(lexer));
  if (inline_values.present) MLC_TRY(SetInline(lexer, inline_values, value));
  graph.Add(std::move(value));
  return {};
}

}  // namespace

Result<Graph> ParseGraphBody(Lexer& lexer, int most_values) {
  MLC_TRY(lexer.Expect("{"));
  Graph graph;
  while (lexer.PeekChar() == '%') MLC_TRY(ParseLine(lexer, most_values, graph));
  MLC_TRY(lexer.Expect("return"));
  do {
    graph.outputs().push_back(MLC_TRY(ParseId(lexer, graph.size())));
    if (graph.outputs().size() > kMaxOperands) return lexer.Error("too many outputs");
  } while (lexer.Accept(","));
  MLC_TRY(lexer.Expect("}"));
  if (!lexer.AtEnd()) return lexer.Error("text after the end");
  MLC_TRY(graph.Verify());
  return graph;
}

Result<Graph> Graph::Parse(std::string_view text) {
  Lexer lexer(text);
  MLC_TRY(lexer.Expect("graph"));
  MLC_TRY(lexer.Version(1));
  return ParseGraphBody(lexer, kMaxModelValues);
}

}  // namespace mlc::graph
