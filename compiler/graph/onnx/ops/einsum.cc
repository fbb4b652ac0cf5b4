// Einsum as a chain of matrix products: each step joins two operands, labels sorted into batch,
// kept and summed ones.
#include <algorithm>
#include <cctype>

#include "compiler/graph/onnx/tables.h"

namespace mlc::graph::onnx {
namespace {

struct Term {
  ValueId value;
  std::string labels;  // one per dimension
};

// Labels of the dimensions that "..." stands for; outside the alphabet of equations.
constexpr char kFirstEllipsisLabel = '0';

std::string ExpandEllipsis(const std::string& text, int64_t count) {
  std::string labels;
  for (int64_t i = 8 - count; i < 8; ++i) {
    labels += static_cast<char>(kFirstEllipsisLabel + i);
  }
  const size_t dots = text.find("...");
  if (dots == text.npos) return text;
  return text.substr(0, dots) + labels + text.substr(dots + 3);
}

bool Letters(const std::string& text) {
  std::string plain = text;
  const size_t dots = plain.find("...");
  if (dots != plain.npos) plain.erase(dots, 3);
  return std::all_of(plain.begin(), plain.end(),
                     [](char ch) { return std::isalpha(static_cast<unsigned char>(ch)) != 0; });
}

// Reorders to `wanted`, a permutation of the term's labels.
ValueId Permute(Builder& b, const Term& term, const std::string& wanted) {
  if (wanted == term.labels) return term.value;
  Dims perm;
  for (const char label : wanted) perm.push_back(static_cast<int64_t>(term.labels.find(label)));
  return b.Transpose(term.value, perm);
}

// Sums the labels that nothing else needs.
Term SumUnneeded(Builder& b, const Term& term, const std::string& needed) {
  Term rest = {kNoValue, ""};
  Dims axes;
  for (size_t i = 0; i < term.labels.size(); ++i) {
    if (needed.find(term.labels[i]) == needed.npos) {
      axes.push_back(static_cast<int64_t>(i));
    } else {
      rest.labels += term.labels[i];
    }
  }
  rest.value = axes.empty() ? term.value : b.Reduce("sum", term.value, axes, false);
  return rest;
}

Dims SizesOf(const Builder& b, const Term& term, const std::string& labels) {
  Dims sizes;
  for (const char label : labels) {
    sizes.push_back(b.Dim(term.value, static_cast<int64_t>(term.labels.find(label))));
  }
  return sizes;
}

int64_t Product(const Dims& dims) {
  int64_t product = 1;
  for (const int64_t dim : dims) product *= dim;
  return product;
}

// The product of two terms, summed over shared labels outside `needed`.
Term Join(OpContext& c, Term left, Term right, const std::string& needed) {
  Builder& b = c.b;
  left = SumUnneeded(b, left, needed + right.labels);
  right = SumUnneeded(b, right, needed + left.labels);
  std::string batch, rows, columns, summed;
  for (const char label : left.labels) {
    const bool shared = right.labels.find(label) != right.labels.npos;
    const bool kept = needed.find(label) != needed.npos;
    (!shared ? rows : kept ? batch : summed) += label;
  }
  for (const char label : right.labels) {
    if (left.labels.find(label) == left.labels.npos) columns += label;
  }
  if (!c.ok()) return left;
  if (SizesOf(b, left, batch + summed) != SizesOf(b, right, batch + summed)) {
    c.Fail("a label has two sizes");
    return left;
  }
  const Dims batch_dims = SizesOf(b, left, batch);
  const Dims row_dims = SizesOf(b, left, rows);
  const Dims column_dims = SizesOf(b, right, columns);
  const int64_t inner = Product(SizesOf(b, left, summed));
  // Labels of the batch stay dimensions: joined, batches and heads of attention could not be read
  // as views of what they are parts of.
  const auto matrices = [&](int64_t m, int64_t n) {
    Dims dims = batch_dims;
    dims.insert(dims.end(), {m, n});
    return dims;
  };
  const ValueId x =
      b.Reshape(Permute(b, left, batch + rows + summed), matrices(Product(row_dims), inner));
  const ValueId y =
      b.Reshape(Permute(b, right, batch + summed + columns), matrices(inner, Product(column_dims)));
  Dims dims = batch_dims;
  dims.insert(dims.end(), row_dims.begin(), row_dims.end());
  dims.insert(dims.end(), column_dims.begin(), column_dims.end());
  return {b.Reshape(b.MatMul(x, y), dims), batch + rows + columns};
}

struct Equation {
  std::vector<std::string> terms;
  std::string result;
};

// Splits and checks the equation; the result's labels are implied when it has none.
bool ParseEquation(OpContext& c, Equation& equation) {
  std::string text = c.Text("equation", "");
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  if (text.size() > 256) return c.Fail("the equation is too long"), false;
  const size_t arrow = text.find("->");
  const std::string left = text.substr(0, arrow);
  for (size_t begin = 0; begin <= left.size();) {
    const size_t end = std::min(left.find(',', begin), left.size());
    equation.terms.push_back(left.substr(begin, end - begin));
    begin = end + 1;
  }
  if (arrow != text.npos) equation.result = text.substr(arrow + 2);
  if (static_cast<int>(equation.terms.size()) != c.OperandCount()) {
    return c.Fail("the equation does not have one term per operand"), false;
  }
  int64_t dots = 0;
  for (size_t i = 0; i < equation.terms.size(); ++i) {
    std::string& term = equation.terms[i];
    if (!Letters(term)) return c.Fail("the equation has a term that is not letters"), false;
    const int64_t rank = c.b.RankOf(c.In(static_cast<int>(i)));
    const bool open = term.find("...") != term.npos;
    const int64_t letters = static_cast<int64_t>(term.size()) - (open ? 3 : 0);
    if (open ? letters > rank || rank - letters > 8 : letters != rank) {
      return c.Fail("a term of the equation does not fit its operand's rank"), false;
    }
    if (open) dots = std::max(dots, rank - letters);
    term = ExpandEllipsis(term, rank - letters);
  }
  if (!Letters(equation.result)) return c.Fail("the equation's result is not letters"), false;
  if (arrow != text.npos) {
    equation.result = ExpandEllipsis(equation.result, dots);
    return true;
  }
  std::string all;
  for (const std::string& term : equation.terms) all += term;
  std::sort(all.begin(), all.end());
  for (const char label : all) {
    const bool implied = label < 'A' || std::count(all.begin(), all.end(), label) == 1;
    if (implied && equation.result.find(label) == equation.result.npos) equation.result += label;
  }
  return true;
}

void Einsum(OpContext& c) {
  Equation equation;
  if (c.OperandCount() == 0) return c.Fail("operand 0 is missing");
  for (int i = 0; i < c.OperandCount(); ++i) c.In(i);
  if (!c.ok() || !ParseEquation(c, equation)) return;
  std::vector<Term> terms;
  std::string known;
  for (size_t i = 0; i < equation.terms.size(); ++i) {
    for (const char label : equation.terms[i]) {
      if (std::count(equation.terms[i].begin(), equation.terms[i].end(), label) > 1) {
        return c.Unsupported("a label that is repeated in one term");
      }
    }
    known += equation.terms[i];
    terms.push_back({c.In(static_cast<int>(i)), equation.terms[i]});
  }
  for (const char label : equation.result) {
    if (known.find(label) == known.npos ||
        std::count(equation.result.begin(), equation.result.end(), label) > 1) {
      return c.Fail("the equation's result has a label that no term has, or one twice");
    }
  }
  Term total = terms[0];
  for (size_t i = 1; i < terms.size() && c.ok(); ++i) {
    std::string needed = equation.result;
    for (size_t k = i + 1; k < terms.size(); ++k) needed += terms[k].labels;
    total = Join(c, total, terms[i], needed);
  }
  total = SumUnneeded(c.b, total, equation.result);
  if (!c.ok()) return;
  c.Out(Permute(c.b, total, equation.result));
}

constexpr OpRow kEinsumRows[] = {{"Einsum", Einsum, kVariadic, 1, "no label twice in one term"}};

}  // namespace

std::span<const OpRow> EinsumOps() { return kEinsumRows; }

}  // namespace mlc::graph::onnx
