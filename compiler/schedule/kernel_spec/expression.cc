#include "compiler/schedule/kernel_spec/expression.h"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "compiler/schedule/kernel_spec/expression_node.h"

namespace mlc::schedule {
namespace {

using Value = ExpressionValue;
using List = Value::List;

// Nodes and elements that one evaluation may visit.
constexpr int kMaxSteps = 200'000;

double Real(const Value& value) {
  const auto* whole = std::get_if<int64_t>(&value.value);
  return whole != nullptr ? static_cast<double>(*whole) : std::get<double>(value.value);
}

bool Whole(const Value& value) { return std::holds_alternative<int64_t>(value.value); }

int64_t FloorDivide(int64_t a, int64_t b) {
  const int64_t quotient = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? quotient - 1 : quotient;
}

// What a, op, b are; an error's words otherwise.
struct Outcome {
  Value value;
  const char* wrong = nullptr;
};

constexpr char kTooLarge[] = "the number is beyond 64 bits";
constexpr char kByZero[] = "a division by zero";

Outcome Power(int64_t base, int64_t exponent) {
  int64_t result = 1;
  // Only 0, 1 and -1 have longer powers within 64 bits.
  if (base >= -1 && base <= 1) exponent = exponent == 0 ? 0 : 2 - exponent % 2;
  for (; exponent > 0; --exponent) {
    if (__builtin_mul_overflow(result, base, &result)) return {{}, kTooLarge};
  }
  return {result};
}

Outcome Wholes(int64_t a, const std::string& op, int64_t b) {
  int64_t result = 0;
  bool overflows = false;
  if (op == "+") {
    overflows = __builtin_add_overflow(a, b, &result);
  } else if (op == "-") {
    overflows = __builtin_sub_overflow(a, b, &result);
  } else if (op == "*") {
    overflows = __builtin_mul_overflow(a, b, &result);
  } else {
    if (b == 0) return {{}, kByZero};
    if (b == -1) {
      overflows = op == "//" && __builtin_sub_overflow(int64_t{0}, a, &result);
    } else {
      result = op == "//" ? FloorDivide(a, b) : a - FloorDivide(a, b) * b;
    }
  }
  return {result, overflows ? kTooLarge : nullptr};
}

Outcome Reals(double a, const std::string& op, double b) {
  double result = 0;
  if (op == "+") {
    result = a + b;
  } else if (op == "-") {
    result = a - b;
  } else if (op == "*") {
    result = a * b;
  } else if (op == "**") {
    result = std::pow(a, b);
  } else if (b == 0) {
    return {{}, kByZero};
  } else if (op == "/") {
    result = a / b;
  } else {
    result = op == "//" ? std::floor(a / b) : a - std::floor(a / b) * b;
  }
  return {result, std::isfinite(result) ? nullptr : "the result is not a finite number"};
}

Outcome Arithmetic(const Value& a, const std::string& op, const Value& b) {
  if (!a.IsNumber() || !b.IsNumber()) return {{}, "arithmetic needs numbers"};
  if (!Whole(a) || !Whole(b) || op == "/") return Reals(Real(a), op, Real(b));
  const int64_t left = std::get<int64_t>(a.value), right = std::get<int64_t>(b.value);
  if (op != "**") return Wholes(left, op, right);
  return right < 0 ? Reals(Real(a), op, Real(b)) : Power(left, right);
}

bool Equal(const Value& a, const Value& b) {
  if (a.IsNumber() && b.IsNumber()) {
    return Whole(a) && Whole(b) ? a.value == b.value : Real(a) == Real(b);
  }
  return a == b;
}

Outcome Compare(const Value& a, const std::string& op, const Value& b) {
  const auto truth = [](bool is) { return Outcome{int64_t{is}}; };
  if (op == "==") return truth(Equal(a, b));
  if (op == "!=") return truth(!Equal(a, b));
  if (op == "in" || op == "not in") {
    const auto* list = std::get_if<List>(&b.value);
    if (list == nullptr) return {{}, "'in' needs a list"};
    const bool found = std::any_of(list->begin(), list->end(),
                                   [&](const Value& element) { return Equal(a, element); });
    return truth(found == (op == "in"));
  }
  const auto ordered = [&](const auto& x, const auto& y) {
    return truth(op == "<" ? x < y : op == "<=" ? x <= y : op == ">" ? x > y : x >= y);
  };
  if (a.value.index() == b.value.index() && a.value.index() != 3) {
    return std::visit(
        [&](const auto& x) {
          using Held = std::decay_t<decltype(x)>;
          if constexpr (std::is_same_v<Held, List>) {
            return truth(false);
          } else {
            return ordered(x, std::get<Held>(b.value));
          }
        },
        a.value);
  }
  if (a.IsNumber() && b.IsNumber()) return ordered(Real(a), Real(b));
  return {{}, "values of different kinds have no order"};
}

// A float as the integer that `round` makes of it.
Outcome ToInteger(const Value& value, double (*round)(double)) {
  if (!value.IsNumber()) return {{}, "a number is needed"};
  if (Whole(value)) return {value};
  const double whole = round(Real(value));
  if (!(std::abs(whole) < 9.2e18)) return {{}, kTooLarge};
  return {static_cast<int64_t>(whole)};
}

Outcome Range(const List& bounds) {
  int64_t ends[3] = {0, 0, 1};
  if (bounds.empty() || bounds.size() > 3) return {{}, "range takes one to three numbers"};
  for (size_t i = 0; i < bounds.size(); ++i) {
    if (!Whole(bounds[i])) return {{}, "range takes integers"};
    ends[bounds.size() == 1 ? 1 : i] = std::get<int64_t>(bounds[i].value);
  }
  if (ends[2] == 0) return {{}, "a range with a step of 0"};
  List list;
  for (int64_t at = ends[0]; ends[2] > 0 ? at < ends[1] : at > ends[1];) {
    if (list.size() == Expression::kMaxList) return {{}, "a list has more than 4096 elements"};
    list.emplace_back(at);
    if (__builtin_add_overflow(at, ends[2], &at)) break;
  }
  return {std::move(list)};
}

Outcome Extreme(const List& given, bool least) {
  const List* list = &given;
  if (given.size() == 1) list = std::get_if<List>(&given[0].value);
  if (list == nullptr || list->empty()) return {{}, "min and max need numbers"};
  Value best = list->front();
  for (const Value& value : *list) {
    if (!value.IsNumber() || !best.IsNumber()) return {{}, "min and max need numbers"};
    if (least ? Real(value) < Real(best) : Real(value) > Real(best)) best = value;
  }
  return {best};
}

Outcome CallOne(const std::string& name, const Value& value) {
  if (name == "len" || name == "list") {
    const auto* list = std::get_if<List>(&value.value);
    if (list == nullptr) return {{}, "len and list need a list"};
    return name == "list" ? Outcome{value} : Outcome{static_cast<int64_t>(list->size())};
  }
  if (name == "bool") return {int64_t{value.IsTrue()}};
  if (name == "int") return ToInteger(value, std::trunc);
  if (name == "round") return ToInteger(value, std::nearbyint);
  if (name == "ceil") return ToInteger(value, std::ceil);
  if (name == "floor") return ToInteger(value, std::floor);
  if (!value.IsNumber()) return {{}, "a number is needed"};
  if (name == "float") return {Real(value)};
  if (!Whole(value)) return {std::abs(Real(value))};
  const int64_t whole = std::get<int64_t>(value.value);
  return whole >= 0 ? Outcome{value} : Wholes(0, "-", whole);
}

Outcome Call(const std::string& name, const List& arguments) {
  if (name == "min" || name == "max") return Extreme(arguments, name == "min");
  if (name == "range") return Range(arguments);
  if (arguments.size() != 1) return {{}, "the function takes one argument"};
  return CallOne(name, arguments[0]);
}

Outcome At(const Value& of, const Value& index) {
  const auto* list = std::get_if<List>(&of.value);
  const auto* at = std::get_if<int64_t>(&index.value);
  if (list == nullptr || at == nullptr) return {{}, "an index needs a list and an integer"};
  const auto size = static_cast<int64_t>(list->size());
  const int64_t from_start = *at < 0 ? *at + size : *at;
  if (from_start < 0 || from_start >= size) return {{}, "the list has no such element"};
  return {(*list)[static_cast<size_t>(from_start)]};
}

}  // namespace

bool ExpressionValue::IsTrue() const {
  if (IsNumber()) return Real(*this) != 0;
  const auto* list = std::get_if<List>(&value);
  return list != nullptr ? !list->empty() : !std::get<std::string>(value).empty();
}

std::string ExpressionValue::ToText() const {
  if (const auto* whole = std::get_if<int64_t>(&value)) return std::to_string(*whole);
  if (const auto* real = std::get_if<double>(&value)) return FloatToText(*real);
  if (const auto* text = std::get_if<std::string>(&value)) {
    const char quote = text->find('\'') == std::string::npos ? '\'' : '"';
    return quote + *text + quote;
  }
  std::string text = "[";
  for (const Value& element : std::get<List>(value)) {
    text += (text.size() > 1 ? ", " : "") + element.ToText();
  }
  return text + "]";
}

// One evaluation: walks the tree.
struct Expression::Evaluation {
  const std::string& text;
  std::span<const Value> values;
  std::vector<Value> bound = {};
  int steps = 0;

  Result<Value> Checked(const Node& node, Outcome outcome) {
    if (outcome.wrong != nullptr) return ExpressionError(text, node.column, outcome.wrong);
    if (const auto* list = std::get_if<List>(&outcome.value.value)) {
      steps += static_cast<int>(list->size());
    }
    return std::move(outcome.value);
  }

  Result<Value> Of(const Node& node) {
    if (++steps > kMaxSteps) return ExpressionError(text, node.column, "this takes too many steps");
    switch (node.op) {
      case ExpressionOp::kConstant:
        return node.constant;
      case ExpressionOp::kName:
        return Checked(node, {values[node.slot]});
      case ExpressionOp::kBound:
        return Checked(node, {bound[node.slot]});
      case ExpressionOp::kOr:
      case ExpressionOp::kAnd:
        return Joined(node);
      case ExpressionOp::kNot:
        return Value(int64_t{!MLC_TRY(Of(*node.children[0])).IsTrue()});
      case ExpressionOp::kCompare:
        return Compared(node);
      case ExpressionOp::kArithmetic: {
        const Value left = MLC_TRY(Of(*node.children[0]));
        return Checked(node, Arithmetic(left, node.words[0], MLC_TRY(Of(*node.children[1]))));
      }
      case ExpressionOp::kNegate:
        return Checked(node, Arithmetic(int64_t{0}, "-", MLC_TRY(Of(*node.children[0]))));
      case ExpressionOp::kChoose:
        return Of(*node.children[MLC_TRY(Of(*node.children[0])).IsTrue() ? 1 : 2]);
      case ExpressionOp::kIndex: {
        const Value of = MLC_TRY(Of(*node.children[0]));
        return Checked(node, At(of, MLC_TRY(Of(*node.children[1]))));
      }
      case ExpressionOp::kCall:
        return Checked(node, Call(node.words[0], MLC_TRY(All(node))));
      case ExpressionOp::kList:
        return Listed(node);
      case ExpressionOp::kGather:
        return Gathered(node);
    }
    return Internal("no such node");
  }

  Result<List> All(const Node& node) {
    List list;
    for (const auto& child : node.children) list.push_back(MLC_TRY(Of(*child)));
    return list;
  }

  Result<Value> Listed(const Node& node) {
    List list = MLC_TRY(All(node));
    return Checked(node, {std::move(list)});
  }

  // As in Python, the value is that of the operand that decides.
  Result<Value> Joined(const Node& node) {
    const bool ends = node.op == ExpressionOp::kOr;
    Value value;
    for (const auto& child : node.children) {
      value = MLC_TRY(Of(*child));
      if (value.IsTrue() == ends) break;
    }
    return value;
  }

  Result<Value> Compared(const Node& node) {
    Value left = MLC_TRY(Of(*node.children[0]));
    for (size_t i = 0; i < node.words.size(); ++i) {
      Value right = MLC_TRY(Of(*node.children[i + 1]));
      const Value held = MLC_TRY(Checked(node, Compare(left, node.words[i], right)));
      if (!held.IsTrue()) return Value(int64_t{0});
      left = std::move(right);
    }
    return Value(int64_t{1});
  }

  Result<Value> Gathered(const Node& node) {
    const Value from = MLC_TRY(Of(*node.children[1]));
    const auto* list = std::get_if<List>(&from.value);
    if (list == nullptr) return ExpressionError(text, node.column, "'for' needs a list");
    List gathered;
    bound.resize(std::max(bound.size(), node.slot + 1));
    for (const Value& element : *list) {
      bound[node.slot] = element;
      if (node.children.size() > 2 && !MLC_TRY(Of(*node.children[2])).IsTrue()) continue;
      gathered.push_back(MLC_TRY(Of(*node.children[0])));
      bound.resize(std::max(bound.size(), node.slot + 1));
    }
    return Checked(node, {std::move(gathered)});
  }
};

Result<Value> Expression::Evaluate(std::span<const Value> values) const {
  MLC_CHECK(root_ != nullptr) << "an expression without text";
  return Evaluation{text_, values}.Of(*root_);
}

Result<int64_t> Expression::EvaluateInteger(std::span<const Value> values) const {
  const Value value = MLC_TRY(Evaluate(values));
  if (const auto* whole = std::get_if<int64_t>(&value.value)) return *whole;
  const auto* real = std::get_if<double>(&value.value);
  if (real == nullptr || *real != std::floor(*real) || std::abs(*real) >= 9.2e18) {
    return ExpressionError(text_, 1, "the value " + value.ToText() + " is not an integer");
  }
  return static_cast<int64_t>(*real);
}

}  // namespace mlc::schedule
