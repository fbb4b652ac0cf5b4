#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "compiler/schedule/kernel_spec/expression_lexer.h"
#include "compiler/schedule/kernel_spec/expression_node.h"

namespace mlc::schedule {

namespace {

using Op = ExpressionOp;
using Token = ExpressionToken;

constexpr std::string_view kFunctions[] = {"min", "max", "abs",   "round", "ceil",  "floor",
                                           "int", "len", "float", "bool",  "range", "list"};
constexpr std::string_view kKeywords[] = {"or", "and", "not", "in", "if", "else", "for"};
template <typename List>
bool Has(const List& list, std::string_view word) {
  return std::find(std::begin(list), std::end(list), word) != std::end(list);
}

struct Literal {
  ExpressionValue value;
  const char* wrong = nullptr;
};

Literal ReadNumber(std::string_view text) {
  const bool hex = text.starts_with("0x") || text.starts_with("0X");
  if (hex) text.remove_prefix(2);
  const char* const last = text.data() + text.size();
  int64_t whole = 0;
  const auto [end, error] = std::from_chars(text.data(), last, whole, hex ? 16 : 10);
  if (error == std::errc::result_out_of_range) return {{}, "the number is beyond 64 bits"};
  if (error == std::errc() && end == last) return {whole};
  double real = 0;
  const auto [stop, wrong] = std::from_chars(text.data(), last, real);
  if (hex || wrong != std::errc() || stop != last) return {{}, "this is not a number"};
  return {real};
}

// The name that "[x for NAME in" binds, which x uses before it is named; none: a plain list.
std::optional<std::string> BoundName(const std::string& text, size_t from) {
  int depth = 0;
  for (size_t i = from; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '(' || c == '[') ++depth;
    if ((c == ')' || c == ']') && --depth < 0) return std::nullopt;
    if (c == ',' && depth == 0) return std::nullopt;
    if (depth != 0 || std::string_view(text).substr(i, 4) != "for " || i == 0 ||
        text[i - 1] != ' ') {
      continue;
    }
    const size_t begin = text.find_first_not_of(' ', i + 4);
    size_t end = begin;
    while (end < text.size() && (IsNameCharacter(text[end]))) ++end;
    if (begin == std::string::npos || begin == end) return std::nullopt;
    return text.substr(begin, end - begin);
  }
  return std::nullopt;
}

}  // namespace

// Recursive descent, one function for each level of precedence, lowest first.
class ExpressionParser {
 public:
  using Node = Expression::Node;
  using NodeRef = std::shared_ptr<const Node>;

  ExpressionParser(std::string_view text, std::span<const std::string> names)
      : lexer_(text), names_(names) {}

  Result<Expression> Parse() {
    if (lexer_.text().size() > Expression::kMaxLength) {
      return InvalidArgument("an expression is longer than 4096 characters");
    }
    MLC_TRY(lexer_.Advance());
    Expression expression;
    expression.root_ = MLC_TRY(Choice());
    if (next_.kind != Token::Kind::kEnd) return Unexpected("an operator or the end");
    expression.text_ = lexer_.text();
    return expression;
  }

 private:
  Status Error(size_t column, const std::string& what) const {
    return ExpressionError(lexer_.text(), column, what);
  }
  Status Unexpected(const std::string& wanted) const {
    const std::string found =
        next_.kind == Token::Kind::kEnd ? "the end" : "'" + std::string(next_.text) + "'";
    return Error(next_.column, "expected " + wanted + ", found " + found);
  }

  bool Is(std::string_view text) const {
    return next_.text == text &&
           (next_.kind == Token::Kind::kSymbol || next_.kind == Token::Kind::kWord);
  }
  Status Expect(std::string_view text) {
    return Is(text) ? lexer_.Advance() : Unexpected("'" + std::string(text) + "'");
  }

  // x if c else y
  Result<NodeRef> Choice() {
    if (++depth_ > Expression::kMaxDepth) return Error(next_.column, "nested too deeply");
    NodeRef then = MLC_TRY(Either());
    if (Is("if") && !gathering_) {
      const size_t column = next_.column;
      MLC_TRY(lexer_.Advance());
      NodeRef condition = MLC_TRY(Either());
      MLC_TRY(Expect("else"));
      NodeRef otherwise = MLC_TRY(Choice());
      then = Node::Make(Op::kChoose, column, {condition, then, otherwise});
    }
    --depth_;
    return then;
  }

  Result<NodeRef> Either() { return Joined("or", Op::kOr, &ExpressionParser::Both); }
  Result<NodeRef> Both() { return Joined("and", Op::kAnd, &ExpressionParser::Negation); }
  Result<NodeRef> Joined(std::string_view word, Op op,
                         Result<NodeRef> (ExpressionParser::*part)()) {
    const size_t column = next_.column;
    std::vector<NodeRef> parts;
    parts.push_back(MLC_TRY((this->*part)()));
    while (Is(word)) {
      MLC_TRY(lexer_.Advance());
      parts.push_back(MLC_TRY((this->*part)()));
    }
    return parts.size() == 1 ? parts[0] : Node::Make(op, column, std::move(parts));
  }

  Result<NodeRef> Negation() {
    const size_t column = next_.column;
    bool negated = false;
    bool some = false;
    for (; Is("not"); some = true, negated = !negated) MLC_TRY(lexer_.Advance());
    NodeRef operand = MLC_TRY(Comparison());
    if (!some) return operand;
    operand = Node::Make(Op::kNot, column, {operand});
    return negated ? operand : Node::Make(Op::kNot, column, {operand});
  }

  Result<NodeRef> Comparison() {
    constexpr std::string_view kOperators[] = {"<", "<=", ">", ">=", "==", "!=", "in", "not"};
    std::vector<NodeRef> operands;
    operands.push_back(MLC_TRY(Sum()));
    std::vector<std::string> words;
    const size_t column = next_.column;
    while (next_.kind != Token::Kind::kString && Has(kOperators, next_.text)) {
      words.emplace_back(next_.text);
      MLC_TRY(lexer_.Advance());
      if (words.back() == "not") {
        MLC_TRY(Expect("in"));
        words.back() = "not in";
      }
      operands.push_back(MLC_TRY(Sum()));
    }
    return words.empty() ? operands[0]
                         : Node::Make(Op::kCompare, column, std::move(operands), std::move(words));
  }

  Result<NodeRef> Sum() {
    NodeRef left = MLC_TRY(Product());
    while (Is("+") || Is("-")) {
      const Token sign = next_;
      MLC_TRY(lexer_.Advance());
      NodeRef right = MLC_TRY(Product());
      left = Node::Make(Op::kArithmetic, sign.column, {left, right}, {std::string(sign.text)});
      MLC_TRY(CountChain());
    }
    return left;
  }

  Result<NodeRef> Product() {
    NodeRef left = MLC_TRY(Factor());
    while (Is("*") || Is("/") || Is("//") || Is("%")) {
      const Token sign = next_;
      MLC_TRY(lexer_.Advance());
      NodeRef right = MLC_TRY(Factor());
      left = Node::Make(Op::kArithmetic, sign.column, {left, right}, {std::string(sign.text)});
      MLC_TRY(CountChain());
    }
    return left;
  }

  // A chain to the left makes a tree as deep as it is long.
  Status CountChain() {
    constexpr int kMaxChain = 256;
    return ++chained_ <= kMaxChain ? Status() : Error(next_.column, "more than 256 operators");
  }

  Result<NodeRef> Factor() {
    if (++depth_ > Expression::kMaxDepth) return Error(next_.column, "nested too deeply");
    Result<NodeRef> made = SignedPower();
    --depth_;
    return made;
  }
  Result<NodeRef> SignedPower() {
    const size_t column = next_.column;
    if (Is("+") || Is("-")) {
      const bool negative = Is("-");
      MLC_TRY(lexer_.Advance());
      NodeRef operand = MLC_TRY(Factor());
      return negative ? Node::Make(Op::kNegate, column, {operand}) : operand;
    }
    NodeRef base = MLC_TRY(Indexed());
    if (!Is("**")) return base;
    const size_t at = next_.column;
    MLC_TRY(lexer_.Advance());
    NodeRef exponent = MLC_TRY(Factor());
    return Node::Make(Op::kArithmetic, at, {base, exponent}, {"**"});
  }

  Result<NodeRef> Indexed() {
    NodeRef of = MLC_TRY(Atom());
    while (Is("[")) {
      const size_t column = next_.column;
      MLC_TRY(lexer_.Advance());
      NodeRef index = MLC_TRY(Inner());
      MLC_TRY(Expect("]"));
      MLC_TRY(CountChain());
      of = Node::Make(Op::kIndex, column, {of, index});
    }
    return of;
  }

  // Within brackets "if" belongs to a choice again.
  Result<NodeRef> Inner() {
    const bool outer = std::exchange(gathering_, false);
    Result<NodeRef> made = Choice();
    gathering_ = outer;
    return made;
  }

  Result<NodeRef> Atom() {
    switch (next_.kind) {
      case Token::Kind::kNumber:
        return Number();
      case Token::Kind::kString: {
        auto node = std::make_shared<Node>();
        node->column = next_.column;
        node->constant = std::string(next_.text.substr(1, next_.text.size() - 2));
        MLC_TRY(lexer_.Advance());
        return NodeRef(node);
      }
      case Token::Kind::kWord:
        return Name();
      default:
        break;
    }
    if (Is("[")) return List("]");
    if (!Is("(")) return Unexpected("a number, a name or '('");
    return List(")");
  }

  Result<NodeRef> Number() {
    auto node = std::make_shared<Node>();
    node->column = next_.column;
    const Literal read = ReadNumber(next_.text);
    if (read.wrong != nullptr) return Error(node->column, read.wrong);
    node->constant = read.value;
    MLC_TRY(lexer_.Advance());
    return NodeRef(node);
  }

  Result<NodeRef> Name() {
    const Token word = next_;
    const std::string name(word.text);
    if (Has(kKeywords, word.text)) return Unexpected("a number, a name or '('");
    MLC_TRY(lexer_.Advance());
    auto node = std::make_shared<Node>();
    node->column = word.column;
    if (name == "True" || name == "False") {
      node->constant = int64_t{name == "True"};
      return NodeRef(node);
    }
    for (size_t i = bound_.size(); i-- > 0;) {
      if (bound_[i] != name) continue;
      node->op = Op::kBound;
      node->slot = i;
      return NodeRef(node);
    }
    if (const auto found = std::find(names_.begin(), names_.end(), name); found != names_.end()) {
      node->op = Op::kName;
      node->slot = static_cast<size_t>(found - names_.begin());
      return NodeRef(node);
    }
    if (Has(kFunctions, word.text) && Is("(")) return Call(word);
    return Error(word.column, "the name '" + name + "' is not known" +
                                  (Is("(") ? "; functions are min, max, abs, round, ceil, floor, "
                                             "int, float, bool, len, range and list"
                                           : ""));
  }

  Result<NodeRef> Call(const Token& word) {
    MLC_TRY(lexer_.Advance());
    std::vector<NodeRef> arguments;
    while (!Is(")")) {
      arguments.push_back(MLC_TRY(Inner()));
      if (!Is(")")) MLC_TRY(Expect(","));
    }
    MLC_TRY(lexer_.Advance());
    return Node::Make(Op::kCall, word.column, std::move(arguments), {std::string(word.text)});
  }

  // A list or tuple, a comprehension, or an expression in parentheses.
  Result<NodeRef> List(std::string_view close) {
    const size_t column = next_.column;
    const size_t start = lexer_.at();
    MLC_TRY(lexer_.Advance());
    std::vector<NodeRef> elements;
    bool has_comma = false;
    if (const std::optional<std::string> bound = BoundName(lexer_.text(), start))
      return Gather(column, *bound, close);
    while (!Is(close)) {
      elements.push_back(MLC_TRY(Inner()));
      if (Is(close)) break;
      MLC_TRY(Expect(","));
      has_comma = true;
    }
    MLC_TRY(lexer_.Advance());
    if (close == ")" && !has_comma && elements.size() == 1) return elements[0];
    return Node::Make(Op::kList, column, std::move(elements));
  }

  Result<NodeRef> Gather(size_t column, const std::string& name, std::string_view close) {
    auto node = std::make_shared<Node>();
    node->op = Op::kGather;
    node->column = column;
    node->slot = bound_.size();
    bound_.push_back(name);
    NodeRef element = MLC_TRY(Inner());
    MLC_TRY(Expect("for"));
    if (!Is(name)) return Unexpected("a name");
    MLC_TRY(lexer_.Advance());
    MLC_TRY(Expect("in"));
    const bool outer = std::exchange(gathering_, true);
    NodeRef list = MLC_TRY(Choice());
    gathering_ = outer;
    node->children = {element, list};
    if (Is("if")) {
      MLC_TRY(lexer_.Advance());
      node->children.push_back(MLC_TRY(Inner()));
    }
    MLC_TRY(Expect(close));
    bound_.pop_back();
    return NodeRef(node);
  }

  ExpressionLexer lexer_;
  const Token& next_ = lexer_.next();
  const std::span<const std::string> names_;
  int depth_ = 0;
  int chained_ = 0;
  bool gathering_ = false;  // "if" is the condition of a comprehension
  std::vector<std::string> bound_;
};

Result<Expression> Expression::Parse(std::string_view text, std::span<const std::string> names) {
  return ExpressionParser(text, names).Parse();
}

}  // namespace mlc::schedule
