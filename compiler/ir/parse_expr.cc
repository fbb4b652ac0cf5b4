#include "compiler/ir/parse_expr.h"

#include <memory>
#include <utility>

#include "compiler/ir/types.h"

namespace mlc::ir {

namespace {

constexpr Type kIndex{DType::kI64, 1};

template <typename Node>
ExprRef MakeExpr(Type type, Node node) {
  return std::make_shared<const Expr>(Expr{type, std::move(node)});
}

}  // namespace

Result<ExprRef> ExpressionParser::ParseIndex(int depth) {
  ExprRef e = MLC_TRY(ParseExpr(depth));
  if (e->type != kIndex) return lexer_.Error("expected an i64 scalar before this");
  return e;
}

Result<ExprRef> ExpressionParser::ParseExpr(int depth) {
  if (depth > kMaxDepth) return lexer_.Error("nested too deeply");
  if (lexer_.PeekNumber()) {
    const int64_t value = MLC_TRY(lexer_.Int());
    return MakeExpr(kIndex, IntImm{value});
  }
  const std::string word = MLC_TRY(lexer_.Word());
  if (lexer_.Accept("(")) return ParseCall(word, depth + 1);
  if (lexer_.Accept("[")) return ParseLoad(word, depth + 1);
  return MakeExpr(kIndex, VarRef{MLC_TRY(scope_.FindVar(word))});
}

Result<ExprRef> ExpressionParser::ParseLoad(const std::string& name, int depth) {
  Load load;
  load.buffer = MLC_TRY(scope_.Find(name));
  const Buffer& buffer = scope_.kernel.buffers[static_cast<size_t>(load.buffer)];
  Type type{buffer.dtype, buffer.lanes};
  load.index = MLC_TRY(ParseIndex(depth));
  Lexer before = lexer_;
  if (lexer_.Accept(",") && lexer_.Accept("lanes")) {
    MLC_TRY(lexer_.Expect("="));
    type.lanes = MLC_TRY(scope_.ParseLanes());
  } else {
    lexer_ = before;
  }
  MLC_TRY(ParseStrideAndMask(depth, &load.stride, &load.mask));
  return MakeExpr(type, std::move(load));
}

Result<DType> ExpressionParser::ParseType() {
  Result<DType> dtype = ParseDType(MLC_TRY(lexer_.Word()));
  if (!dtype.ok()) return lexer_.Error(dtype.status().message());
  return dtype;
}

// [", stride=" int] [", mask=" expr] "]"
Status ExpressionParser::ParseStrideAndMask(int depth, int64_t* stride, ExprRef* mask) {
  bool comma = lexer_.Accept(",");
  if (comma && lexer_.Accept("stride")) {
    MLC_TRY(lexer_.Expect("="));
    *stride = MLC_TRY(lexer_.Int());
    comma = lexer_.Accept(",");
  }
  if (comma) {
    MLC_TRY(lexer_.Expect("mask"));
    MLC_TRY(lexer_.Expect("="));
    *mask = MLC_TRY(ParseIndex(depth));
  }
  return lexer_.Expect("]");
}

// After `word` and "(".
Result<ExprRef> ExpressionParser::ParseCall(const std::string& word, int depth) {
  if (word == "cast") return ParseCast(depth);
  if (word == "broadcast" || word == "lane_mask") return ParseWiden(word == "lane_mask", depth);
  if (word == "lane_index") return ParseLaneIndex();
  if (word == "shuffle_xor") return ParseShuffle(depth);
  if (word.starts_with("reduce_")) return ParseReduce(word.substr(7), depth);
  if (const Result<DType> dtype = ParseDType(word); dtype.ok()) return ParseConstant(*dtype);
  return ParseApply(word, depth);
}

Result<ExprRef> ExpressionParser::ParseConstant(DType dtype) {
  ExprRef constant;
  if (IsFloat(dtype)) {
    const double value = MLC_TRY(lexer_.Float());
    constant = MakeExpr({dtype, 1}, FloatImm{RoundTo(dtype, value)});
  } else {
    const int64_t value = MLC_TRY(lexer_.Int());
    if (WrapTo(dtype, value) != value) return lexer_.Error("the number before does not fit");
    constant = MakeExpr({dtype, 1}, IntImm{value});
  }
  MLC_TRY(lexer_.Expect(")"));
  return constant;
}

Result<ExprRef> ExpressionParser::ParseCast(int depth) {
  const DType dtype = MLC_TRY(ParseType());
  MLC_TRY(lexer_.Expect(","));
  ExprRef value = MLC_TRY(ParseExpr(depth));
  MLC_TRY(lexer_.Expect(")"));
  const int lanes = value->type.lanes;
  return MakeExpr({dtype, lanes}, Cast{std::move(value)});
}

Result<ExprRef> ExpressionParser::ParseWiden(bool is_mask, int depth) {
  ExprRef value = MLC_TRY(ParseExpr(depth));
  MLC_TRY(lexer_.Expect(","));
  const int lanes = MLC_TRY(scope_.ParseLanes());
  MLC_TRY(lexer_.Expect(")"));
  if (value->type.lanes != 1) return lexer_.Error("expected a scalar before this");
  const DType dtype = value->type.dtype;
  if (!is_mask) return MakeExpr({dtype, lanes}, Broadcast{std::move(value)});
  if (dtype != DType::kI64) return lexer_.Error("lane_mask needs an i64");
  return MakeExpr({DType::kBool, lanes}, LaneMask{std::move(value)});
}

Result<ExprRef> ExpressionParser::ParseLaneIndex() {
  const DType dtype = MLC_TRY(ParseType());
  MLC_TRY(lexer_.Expect(","));
  const int lanes = MLC_TRY(scope_.ParseLanes());
  MLC_TRY(lexer_.Expect(")"));
  return MakeExpr({dtype, lanes}, LaneIndex{});
}

Result<ExprRef> ExpressionParser::ParseReduce(const std::string& name, int depth) {
  const Result<ScalarOp> op = ParseScalarOp(name);
  if (!op.ok()) return lexer_.Error("unknown reduction");
  ExprRef value = MLC_TRY(ParseExpr(depth));
  MLC_TRY(lexer_.Expect(")"));
  const Result<Type> type = TypeOfReduce(*op, value);
  if (!type.ok()) return lexer_.Error(type.status().message());
  return MakeExpr(*type, ReduceLanes{*op, std::move(value)});
}

Result<ExprRef> ExpressionParser::ParseShuffle(int depth) {
  ExprRef value = MLC_TRY(ParseExpr(depth));
  MLC_TRY(lexer_.Expect(","));
  const int mask = MLC_TRY(scope_.ParseSmall("lane mask"));
  MLC_TRY(lexer_.Expect(")"));
  const Type type = value->type;
  return MakeExpr(type, ShuffleXor{std::move(value), mask});
}

Result<ExprRef> ExpressionParser::ParseApply(const std::string& name, int depth) {
  const Result<ScalarOp> op = ParseScalarOp(name);
  if (!op.ok()) return lexer_.Error("unknown operator " + Quoted(name));
  Apply apply{*op, {}};
  const int arity = InfoOf(*op).arity;
  for (int i = 0; i < arity; ++i) {
    if (i > 0) MLC_TRY(lexer_.Expect(","));
    apply.args.push_back(MLC_TRY(ParseExpr(depth)));
  }
  MLC_TRY(lexer_.Expect(")"));
  const Result<Type> type = TypeOfApply(*op, apply.args);
  if (!type.ok()) return lexer_.Error(type.status().message());
  return MakeExpr(*type, std::move(apply));
}

}  // namespace mlc::ir
