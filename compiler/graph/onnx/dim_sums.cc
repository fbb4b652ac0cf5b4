#include "compiler/graph/onnx/dim_sums.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>

#include "compiler/graph/onnx/importer.h"

namespace mlc::graph::onnx {

namespace {

using Names = std::set<std::string, std::less<>>;

std::string_view Trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

// A number, or the name of a dimension with a size.
std::optional<int64_t> SizeOfTerm(std::string_view term, const ImportOptions& options,
                                  Names& used) {
  const auto own = options.dims.find(std::string(term));
  if (own != options.dims.end()) {
    used.insert(own->first);
    return own->second;
  }
  int64_t number = 0;
  const auto [end, error] = std::from_chars(term.data(), term.data() + term.size(), number);
  if (error != std::errc() || end != term.data() + term.size()) return std::nullopt;
  return number;
}

template <typename Terms>
std::optional<int64_t> SumOf(const Terms& terms, const ImportOptions& options, Names& used) {
  int64_t sum = 0;
  Names names;
  for (const auto& term : terms) {
    const std::optional<int64_t> size = SizeOfTerm(term, options, names);
    if (!size || __builtin_add_overflow(sum, *size, &sum)) return std::nullopt;
  }
  used.merge(names);
  return sum;
}

std::vector<std::string_view> TermsOf(std::string_view text) {
  std::vector<std::string_view> terms;
  for (bool more = true; more;) {
    const size_t plus = text.find('+');
    more = plus != std::string_view::npos;
    terms.push_back(Trimmed(text.substr(0, plus)));
    if (more) text.remove_prefix(plus + 1);
  }
  return terms;
}

bool HasSize(const DimMessage& dim) { return dim.has_value && dim.value >= 0; }

// The names of dimensions of inputs, with a size or without.
struct InputNames {
  Names known;
  Names unknown;
};

InputNames NamesOf(const ModelMessage& model, const ImportOptions& options) {
  Names initialized;
  for (const TensorMessage& tensor : model.graph.initializers) initialized.emplace(tensor.name);
  InputNames names;
  for (const ValueMessage& input : model.graph.inputs) {
    if (options.bound_inputs.contains(std::string(input.name)) ||
        initialized.contains(input.name)) {
      continue;
    }
    for (size_t a = 0; a < input.dims.size(); ++a) {
      if (HasSize(input.dims[a])) continue;
      const std::string name = NameOfDim(input, a);
      Names used;
      const bool has_size = SizeOfName(name, options, used).has_value();
      if (!has_size) names.unknown.insert(name);
      if (has_size && options.dims.contains(name)) names.known.insert(name);
    }
  }
  return names;
}

// Whether a dimension spells a sum with the name, which is of use even if another term lacks a
// size.
bool IsTerm(std::string_view name, const ModelMessage& model) {
  for (const ValueMessage& input : model.graph.inputs) {
    for (const DimMessage& dim : input.dims) {
      if (!HasSize(dim) && std::ranges::count(TermsOf(dim.param), name) > 0) return true;
    }
  }
  return false;
}

// Whether the text names the dimension, or spells its sum.
bool Means(std::string_view text, std::string_view name, const std::vector<std::string>& sum) {
  if (text == name) return true;
  const std::vector<std::string_view> terms = TermsOf(text);
  return std::ranges::is_permutation(terms, sum);
}

// Whether an output is declared to have the dimension, and all that are have its size.
bool OutputsHave(const ModelMessage& model, const Graph& graph, std::string_view name,
                 const std::vector<std::string>& sum, int64_t size) {
  bool any = false;
  const std::vector<ValueMessage>& outputs = model.graph.outputs;
  for (size_t i = 0; i < outputs.size() && i < graph.outputs().size(); ++i) {
    const std::vector<int64_t>& dims = graph[graph.outputs()[i]].type.dims;
    if (dims.size() != outputs[i].dims.size()) continue;
    for (size_t a = 0; a < dims.size(); ++a) {
      const DimMessage& dim = outputs[i].dims[a];
      if (dim.has_value || !Means(dim.param, name, sum)) continue;
      if (dims[a] != size) return false;
      any = true;
    }
  }
  return any;
}

}  // namespace

std::optional<int64_t> SizeOfName(const std::string& name, const ImportOptions& options,
                                  Names& used) {
  const auto own = options.dims.find(name);
  if (own != options.dims.end()) {
    used.insert(name);
    return own->second;
  }
  const auto sum = options.sums.find(name);
  if (sum != options.sums.end()) return SumOf(sum->second, options, used);
  if (name.find('+') == std::string::npos) return std::nullopt;
  return SumOf(TermsOf(name), options, used);
}

std::string NameOfDim(const ValueMessage& input, size_t axis) {
  const DimMessage& dim = input.dims[axis];
  return dim.param.empty() ? std::string(input.name) + ":" + std::to_string(axis)
                           : std::string(dim.param);
}

Status NoDimOf(const std::string& name, const ModelMessage& model) {
  constexpr size_t kMostNamed = 8;
  Names names;
  for (const ValueMessage& input : model.graph.inputs) {
    for (size_t a = 0; a < input.dims.size(); ++a) {
      if (!HasSize(input.dims[a])) names.insert(NameOfDim(input, a));
    }
  }
  std::string known;
  size_t count = 0;
  for (const std::string& other : names) {
    if (count++ == kMostNamed) break;
    known += (known.empty() ? ", which has " : ", ") + Quote(other);
  }
  if (names.size() > kMostNamed) known += ", ...";
  return InvalidArgument("--dim " + Printable(name) +
                         ": the model has no symbolic dimension of this name" + known);
}

Status CheckDimNames(const ModelMessage& model, const ImportOptions& options) {
  Names used;
  for (const ValueMessage& input : model.graph.inputs) {
    for (size_t a = 0; a < input.dims.size(); ++a) {
      if (!HasSize(input.dims[a])) (void)SizeOfName(NameOfDim(input, a), options, used);
    }
  }
  for (const auto& [name, size] : options.dims) {
    if (!used.contains(name) && !IsTerm(name, model)) return NoDimOf(name, model);
  }
  return Status();
}

std::vector<DimSum> FindSums(const ModelMessage& model, const FunctionTable& functions,
                             const MappedFileRef& file, ExternalFiles& files,
                             const ImportOptions& options) {
  std::vector<DimSum> sums;
  const InputNames names = NamesOf(model, options);
  if (names.unknown.size() != 1) return sums;
  const std::string& unknown = *names.unknown.begin();
  for (auto a = names.known.begin(); a != names.known.end(); ++a) {
    for (auto b = std::next(a); b != names.known.end(); ++b) {
      ImportOptions tried = options;
      tried.folds = nullptr;
      tried.sums[unknown] = {*a, *b};
      int64_t size = 0;
      if (__builtin_add_overflow(options.dims.at(*a), options.dims.at(*b), &size)) continue;
      const Result<Graph> graph = Importer(model, functions, file, files, tried).Run();
      if (graph.ok() && OutputsHave(model, *graph, unknown, {*a, *b}, size)) {
        sums.push_back({{unknown, {*a, *b}}});
      }
    }
  }
  return sums;
}

}  // namespace mlc::graph::onnx
