#include "compiler/front/bounded_model.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "compiler/front/same_constants.h"
#include "compiler/graph/ranged/length_masks.h"
#include "compiler/graph/ranged/prefix.h"
#include "compiler/graph/ranged/size_form.h"
#include "compiler/graph/shape.h"
#include "compiler/graph/tensor_io.h"

namespace mlc::front {

namespace {

using Lengths = std::vector<int64_t>;
using graph::CountedLength;
using graph::ValueId;
using graph::onnx::CountedShape;
using graph::onnx::ImportOptions;

// What gives `lengths` at `counts`, the least of which are the first: a sum of multiples, up to a
// bound.
std::optional<CountedLength> Fit(const std::vector<Lengths>& counts, const Lengths& lengths) {
  const int64_t most = std::ranges::max(lengths);
  const auto fits = [&](const CountedLength& length) {
    for (size_t i = 0; i < counts.size(); ++i) {
      if (length.At(counts[i]) != lengths[i]) return false;
    }
    return true;
  };
  std::optional<graph::SizeForm> form = graph::FitForm(counts, lengths);
  if (!form) {
    std::vector<Lengths> below;
    Lengths lengths_below;
    for (size_t i = 0; i < counts.size(); ++i) {
      if (lengths[i] == most) continue;
      below.push_back(counts[i]);
      lengths_below.push_back(lengths[i]);
    }
    if (!below.empty() && below.front() == counts.front()) {
      form = graph::FitForm(below, lengths_below);
    }
  }
  if (form && fits({most, form->base, form->factors})) {
    return CountedLength{most, form->base, form->factors};
  }
  // A small bound leaves too few lengths below it to tell how they grow: one by one, say.
  for (size_t d = 0; d < counts.front().size(); ++d) {
    CountedLength length{most, lengths.front() - counts.front()[d], Lengths(counts.front().size())};
    length.factors[d] = 1;
    if (fits(length)) return length;
  }
  return std::nullopt;
}

// Compares the graph of few elements with those of 2 and 3 of each dimension.
class FewElements {
 public:
  FewElements(const graph::Graph& two, const graph::Graph& three, int64_t few)
      : two_(two), three_(three), few_(few) {}

  Status Compare(const graph::Graph& graph) const {
    if (graph.size() != two_.size() || graph.outputs() != two_.outputs()) {
      return Unimplemented("the model has other nodes with few elements");
    }
    for (ValueId id = 0; id < graph.size(); ++id) MLC_TRY(CompareNode(graph[id], id));
    return {};
  }

 private:
  int64_t Expected(int64_t at_two, int64_t at_three) const {
    return at_two + (at_three - at_two) * (few_ - 2);
  }

  Status CompareNode(const graph::Value& node, ValueId id) const {
    const graph::Value& two = two_[id];
    const graph::Value& three = three_[id];
    const auto refuse = [&](const std::string& why) {
      return Unimplemented("node '" + two.name + "' (" + std::string(graph::ToText(two.op)) +
                           "): " + why);
    };
    if (node.op != two.op || node.scalar != two.scalar || node.operands != two.operands ||
        node.type.rank() != two.type.rank()) {
      return refuse("the model computes something else with few elements");
    }
    for (size_t a = 0; a < node.type.dims.size(); ++a) {
      if (node.type.dims[a] != Expected(two.type.dims[a], three.type.dims[a])) {
        return refuse(
            "the length of its result is not the same sum of multiples with few elements");
      }
    }
    if (node.op != graph::Op::kConstant || SameNumbers(node, two, three)) return {};
    return refuse("its numbers are not the same sums of multiples with few elements");
  }

  // Of constants that may hold lengths.
  bool SameNumbers(const graph::Value& node, const graph::Value& two,
                   const graph::Value& three) const {
    constexpr int64_t kMostNumbers = 16;
    if (node.data == nullptr || two.data == nullptr || three.data == nullptr) {
      return node.data == two.data && node.attrs == two.attrs;
    }
    if (node.type.NumElements() > kMostNumbers || node.type.dims != two.type.dims ||
        node.type.dims != three.type.dims) {
      return true;
    }
    for (int64_t i = 0; i < node.type.NumElements(); ++i) {
      const double at_two = graph::ReadDouble(*two.data, i);
      const double at_three = graph::ReadDouble(*three.data, i);
      const double expected = at_two + (at_three - at_two) * static_cast<double>(few_ - 2);
      const double number = graph::ReadDouble(*node.data, i);
      if (number != expected && !(at_two == at_three && number == at_two) &&
          !(std::isnan(number) && std::isnan(at_two))) {
        return false;
      }
    }
    return true;
  }

  const graph::Graph& two_;
  const graph::Graph& three_;
  int64_t few_;
};

// Compares the model with what it is at fewer elements.
class BoundProof {
 public:
  BoundProof(const std::string& path, const ImportOptions& import, const Model& padded,
             const std::vector<CountedShape>& dims)
      : path_(path), import_(import), padded_(padded), dims_(dims) {}

  Status Run() {
    const Lengths least(dims_.size(), 2);
    MLC_TRY(Check(least));
    MLC_TRY(Check(Lengths(dims_.size(), 3)));
    for (const int64_t few : {0, 1}) MLC_TRY(CheckFew(few));
    for (size_t d = 0; d < dims_.size(); ++d) {
      const int64_t most = dims_[d].most;
      for (const int64_t length : {int64_t{3}, int64_t{5}, most / 2, most - 1}) {
        MLC_TRY(CheckMoved(least, d, length));
      }
    }
    Lengths halves, almost;
    for (const CountedShape& dim : dims_) {
      halves.push_back(std::max<int64_t>(dim.most / 2, 2));
      almost.push_back(dim.most - 1);
    }
    MLC_TRY(Check(halves));
    MLC_TRY(Check(almost));
    AddPoint(MostLengths(), padded_.graph);
    return CheckBounds(least);
  }

  Result<graph::CountedOutputs> Outputs() const {
    graph::CountedOutputs outputs;
    outputs.count = static_cast<int64_t>(dims_.size());
    for (size_t o = 0; o + 1 < padded_.graph.outputs().size(); ++o) {
      std::vector<CountedLength>& axes = outputs.lengths.emplace_back();
      const graph::TensorType& type = padded_.graph[padded_.graph.outputs()[o]].type;
      for (size_t a = 0; a < type.dims.size(); ++a) {
        axes.push_back(MLC_TRY(FitAll(
            OutputLengths(o, a), "the shape of output '" + padded_.graph.output_names()[o] + "'")));
      }
    }
    return outputs;
  }

  // Gives each need a number of `lengths`.
  Result<std::vector<graph::MaskedNeed>> Needs(std::vector<CountedLength>& lengths) const {
    std::vector<graph::MaskedNeed> masked;
    for (const auto& [need, by_point] : needs_) {
      Lengths all(points_.size(), graph::LengthIn(padded_.graph, need));
      for (const auto& [point, length] : by_point) all[point] = length;
      const CountedLength length =
          MLC_TRY(FitAll(all, "a length in node '" + padded_.graph[need.node].name + "'"));
      auto place = std::ranges::find(lengths, length);
      if (place == lengths.end()) place = lengths.insert(place, length);
      masked.push_back({need, static_cast<int>(place - lengths.begin())});
    }
    return masked;
  }

 private:
  Lengths MostLengths() const {
    Lengths most;
    for (const CountedShape& dim : dims_) most.push_back(dim.most);
    return most;
  }

  void AddPoint(const Lengths& counts, const graph::Graph& graph) {
    points_.push_back(counts);
    std::vector<Lengths>& outputs = output_dims_.emplace_back();
    for (const ValueId output : graph.outputs()) outputs.push_back(graph[output].type.dims);
  }

  Lengths OutputLengths(size_t output, size_t axis) const {
    Lengths lengths;
    for (const std::vector<Lengths>& point : output_dims_) lengths.push_back(point[output][axis]);
    return lengths;
  }

  Status CheckMoved(Lengths lengths, size_t dim, int64_t length) {
    if (length < 2 || length >= dims_[dim].most || length == lengths[dim]) return {};
    lengths[dim] = length;
    return Check(lengths);
  }

  Status Check(const Lengths& wanted) {
    if (!checked_.insert(wanted).second) return {};
    ImportOptions import = import_;
    import.counted_lengths = wanted;
    Model exact;
    std::vector<CountedShape> dims;
    Result<graph::Graph> graph = graph::onnx::ImportOnnx(path_, import, &exact.files, &dims);
    if (!graph.ok()) return Refused(graph.status(), wanted);
    exact.graph = *std::move(graph);
    Lengths counts;
    for (const CountedShape& dim : dims) counts.push_back(dim.length);
    if (counts.size() != dims_.size()) {
      return Refused(Unimplemented("the model has other nodes"), wanted);
    }
    Result<graph::Needs> needs =
        graph::ProvePrefix(exact.graph, padded_.graph, SameOfFiles(exact, padded_));
    if (!needs.ok()) return Refused(needs.status(), counts);
    for (const auto& [need, length] : *needs) needs_[need][points_.size()] = length;
    AddPoint(counts, exact.graph);
    if (straight_.size() < 2) straight_.push_back(std::move(exact.graph));
    return {};
  }

  // Where all dimensions have this number, lengths are to go on as those for 2 and 3 begin. There
  // is no proof: a length of 1 means something else to some operators.
  Status CheckFew(int64_t few) {
    const Lengths lengths(dims_.size(), few);
    ImportOptions import = import_;
    import.counted_lengths = lengths;
    const Result<graph::Graph> graph = graph::onnx::ImportOnnx(path_, import);
    // The model itself has no result there, such as the place of the greatest of no elements.
    if (graph.status().code() == StatusCode::kInvalidArgument) return {};
    if (!graph.ok()) return Refused(graph.status(), lengths);
    const FewElements check(straight_[0], straight_[1], few);
    const Status status = check.Compare(*graph);
    return status.ok() ? status : Refused(status, lengths);
  }

  // Where lengths that end at a bound reach it.
  Status CheckBounds(const Lengths& least) {
    std::set<std::pair<size_t, int64_t>> places;
    for (size_t o = 0; o + 1 < padded_.graph.outputs().size(); ++o) {
      for (size_t a = 0; a < output_dims_.back()[o].size(); ++a) {
        AddBounds(OutputLengths(o, a), places);
      }
    }
    for (const auto& [dim, place] : places) {
      for (const int64_t length : {place - 1, place, place + 1}) {
        MLC_TRY(CheckMoved(least, dim, length));
      }
    }
    return {};
  }

  void AddBounds(const Lengths& lengths, std::set<std::pair<size_t, int64_t>>& places) const {
    const std::optional<CountedLength> length = Fit(points_, lengths);
    if (!length) return;
    for (size_t d = 0; d < length->factors.size(); ++d) {
      if (length->factors[d] > 0) {
        places.insert({d, (length->most - length->base) / length->factors[d]});
      }
    }
  }

  Result<CountedLength> FitAll(const Lengths& lengths, const std::string& what) const {
    const std::optional<CountedLength> length = Fit(points_, lengths);
    if (length) return *length;
    return Unimplemented(what +
                         " depends on data, but is not a sum of multiples of the elements "
                         "that are selected: it is not supported");
  }

  Status Refused(const Status& status, const Lengths& lengths) const {
    std::string text;
    for (size_t d = 0; d < dims_.size() && d < lengths.size(); ++d) {
      text += (d == 0 ? "" : ", ") + std::to_string(lengths[d]) + " of '" + dims_[d].name + "'";
    }
    return Unimplemented("with " + text +
                         ", a number that depends on data, the model cannot "
                         "run with room for the most: " +
                         status.message());
  }

  const std::string& path_;
  const ImportOptions& import_;
  const Model& padded_;
  const std::vector<CountedShape>& dims_;
  std::vector<Lengths> points_;  // counts, the least ones first
  std::vector<std::vector<Lengths>> output_dims_;
  std::set<Lengths> checked_;
  std::vector<graph::Graph> straight_;                      // where all dimensions have 2, and 3
  std::map<graph::Need, std::map<size_t, int64_t>> needs_;  // lengths by point
};

// Lengths as values of the graph, i32[1] each.
class LengthValues {
 public:
  LengthValues(graph::Graph& graph, size_t count) : graph_(graph) {
    const ValueId all = graph.outputs().back();
    counts_ = count == 1 ? std::vector<ValueId>{all} : graph[all].operands;
  }

  Result<ValueId> Add(const CountedLength& length) {
    ValueId sum = Number(length.base);
    for (size_t d = 0; d < length.factors.size(); ++d) {
      if (length.factors[d] == 0) continue;
      const ValueId scaled =
          graph_.Pointwise(ScalarOp::kMul, {counts_[d], Number(length.factors[d])});
      sum = graph_.Pointwise(ScalarOp::kAdd, {sum, scaled});
    }
    graph::Value cast;
    cast.op = graph::Op::kCast;
    cast.operands = {graph_.Pointwise(ScalarOp::kMin, {sum, Number(length.most)})};
    cast.type = {DType::kI32, {1}, {}};
    return graph::AddInferred(graph_, std::move(cast));
  }

 private:
  ValueId Number(int64_t value) {
    return graph_.Constant(graph::WriteInts(DType::kI64, {1}, Lengths{value}));
  }

  graph::Graph& graph_;
  std::vector<ValueId> counts_;
};

}  // namespace

Result<Model> ReadBounded(const std::string& path, const ImportOptions& import) {
  ImportOptions bounded = import;
  bounded.bounded_shapes = true;
  Model model;
  std::vector<CountedShape> dims;
  model.graph = MLC_TRY(graph::onnx::ImportOnnx(path, bounded, &model.files, &dims));
  if (dims.empty()) return model;
  BoundProof proof(path, bounded, model, dims);
  MLC_TRY(proof.Run());
  std::vector<CountedLength> lengths;
  const std::vector<graph::MaskedNeed> needs = MLC_TRY(proof.Needs(lengths));
  model.counted = MLC_TRY(proof.Outputs());
  if (needs.empty()) return model;
  LengthValues values(model.graph, dims.size());
  std::vector<ValueId> ids;
  for (const CountedLength& length : lengths) ids.push_back(MLC_TRY(values.Add(length)));
  MLC_TRY(graph::AddLengthMasks(model.graph, needs, ids));
  return model;
}

}  // namespace mlc::front
