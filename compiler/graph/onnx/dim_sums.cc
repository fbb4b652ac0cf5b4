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
      const DimMessage& dim = input.dims[a];
      if (dim.has_value && dim.value >= 0) continue;
      const std::string name = dim.param.empty() ? std::string(input.name) + ":" + std::to_string(a)
                                                 : std::string(dim.param);
      Names used;
      const bool has_size = SizeOfName(name, options, used).has_value();
      if (!has_size) names.unknown.insert(name);
      if (has_size && options.dims.contains(name)) names.known.insert(name);
    }
  }
  return names;
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
      const int64_t size = options.dims.at(*a) + options.dims.at(*b);
      const Result<Graph> graph = Importer(model, functions, file, files, tried).Run();
      if (graph.ok() && OutputsHave(model, *graph, unknown, {*a, *b}, size)) {
        sums.push_back({{unknown, {*a, *b}}});
      }
    }
  }
  return sums;
}

}  // namespace mlc::graph::onnx
