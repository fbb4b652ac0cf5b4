#include "compiler/graph/physical/extract_tasks.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "compiler/graph/float8_product.h"
#include "compiler/graph/physical/concat_place.h"
#include "compiler/graph/physical/lower_views.h"
#include "compiler/graph/physical/views.h"
#include "compiler/graph/tensor_io.h"

namespace mlc::graph {

namespace {

// Tensors up to this size are looked at for being one value repeated.
constexpr int64_t kMaxSplatElements = 1 << 16;

// The value that all elements of the constant have, if they agree bit for bit.
std::optional<double> SplatOf(const TensorData& data) {
  const auto size = static_cast<size_t>(SizeOf(data.dtype));
  if (data.bytes.empty() || data.bytes.size() > kMaxSplatElements * size) return std::nullopt;
  for (size_t i = size; i < data.bytes.size(); i += size) {
    if (std::memcmp(data.bytes.data(), data.bytes.data() + i, size) != 0) return std::nullopt;
  }
  const double value = ReadDouble(data, 0);
  // A splat is a double: integers beyond its precision stay data.
  if (!IsFloat(data.dtype) && std::abs(value) > 9007199254740992.0) return std::nullopt;
  return value;
}

class Extraction {
 public:
  Extraction(const Graph& graph, const Group& group, const std::vector<bool>& escapes)
      : graph_(graph), group_(group), escapes_(escapes) {}

  // The fragment as a graph of its own; sources() names what its sources stand for.
  Graph Run() {
    for (ValueId member : group_.members) AddMember(member);
    for (ValueId member : group_.members) {
      if (escapes_[static_cast<size_t>(member)]) {
        fragment_.outputs().push_back(local_[member]);
        outputs_.push_back(member);
      }
    }
    return fragment_;
  }

  const std::map<ValueId, ValueId>& sources() const { return sources_; }
  const std::vector<ValueId>& outputs() const { return outputs_; }

 private:
  void AddMember(ValueId member) {
    Value node = graph_[member].op == Op::kView ? AsMovement(graph_[member]) : graph_[member];
    for (size_t slot = 0; slot < node.operands.size(); ++slot) {
      ValueId& operand = node.operands[slot];
      if (operand != kNoValue) operand = Operand(graph_[member], operand);
    }
    node.name.clear();
    // Values inside the task live in registers; only results have a place.
    if (!escapes_[static_cast<size_t>(member)]) node.type.strides.clear();
    local_[member] = fragment_.Add(std::move(node));
  }

  // A view inside a task: all elements in their order, or some columns of a matrix.
  Value AsMovement(Value view) const {
    const bool is_whole = graph_[view.operands[0]].type.NumElements() == view.type.NumElements();
    const int64_t first = view.Int("offset");
    view.op = is_whole ? Op::kReshape : Op::kSlice;
    view.attrs.clear();
    if (is_whole) return view;
    view.attrs["starts"] = std::vector<int64_t>{0, first};
    view.attrs["steps"] = std::vector<int64_t>{1, 1};
    return view;
  }

  ValueId Operand(const Value& user, ValueId operand) {
    if (const auto found = local_.find(operand); found != local_.end()) return found->second;
    if (graph_[operand].op == Op::kDequantize) {
      AddMember(operand);
      return local_[operand];
    }
    if (const std::optional<Value> splat = AsSplat(user, operand)) {
      const auto key =
          std::make_tuple(splat->type.ToText(), std::bit_cast<uint64_t>(splat->Float("value")));
      const auto [found, inserted] = splats_.try_emplace(key, kNoValue);
      if (inserted) found->second = fragment_.Add(*splat);
      return found->second;
    }
    // Two views of the same place are one operand.
    const ValueId root = RootOf(graph_, operand);
    const auto key =
        std::make_tuple(root, OffsetOf(graph_, operand), graph_[operand].type.ToText());
    const auto [found, inserted] = places_.try_emplace(key, kNoValue);
    if (inserted) {
      Value source;
      source.op = graph_[root].op == Op::kConstant ? Op::kWeight : Op::kInput;
      source.type = graph_[operand].type;
      found->second = fragment_.Add(std::move(source));
      sources_[found->second] = operand;
    }
    return found->second;
  }

  // A known value that needs no operand. Pointwise nodes take it as a scalar where broadcasting
  // gives the same dims; other operators see the dims they had.
  std::optional<Value> AsSplat(const Value& user, ValueId operand) const {
    const Value& root = graph_[RootOf(graph_, operand)];
    if (root.op != Op::kConstant) return std::nullopt;
    const bool pointwise = user.op == Op::kPointwise;
    std::optional<double> value;
    if (!root.data) {
      value = root.Float("value");
    } else if (pointwise) {
      value = SplatOf(*root.data);
    }
    if (!value) return std::nullopt;
    Value splat;
    splat.op = Op::kConstant;
    splat.attrs["value"] = *value;
    splat.type = {root.type.dtype, graph_[operand].type.dims, {}};
    if (pointwise && BroadcastsWithout(user, operand)) splat.type.dims.clear();
    return splat;
  }

  bool BroadcastsWithout(const Value& user, ValueId operand) const {
    std::vector<int64_t> dims;
    for (ValueId other : user.operands) {
      if (other == operand) continue;
      Result<std::vector<int64_t>> wider = BroadcastDims(dims, graph_[other].type.dims);
      if (!wider.ok()) return false;
      dims = *std::move(wider);
    }
    return dims == user.type.dims;
  }

  const Graph& graph_;
  const Group& group_;
  const std::vector<bool>& escapes_;
  Graph fragment_;
  std::map<ValueId, ValueId> local_;    // graph value -> fragment value
  std::map<ValueId, ValueId> sources_;  // fragment source -> graph value
  std::map<std::tuple<std::string, uint64_t>, ValueId> splats_;
  std::map<std::tuple<ValueId, int64_t, std::string>, ValueId> places_;
  std::vector<ValueId> outputs_;
};

// Values that live beyond the task that computes them.
std::vector<bool> Escapes(const Graph& graph, const Partition& partition) {
  std::vector<bool> escapes(static_cast<size_t>(graph.size()), false);
  for (ValueId id = 0; id < graph.size(); ++id) {
    for (ValueId operand : graph[id].operands) {
      if (operand == kNoValue || IsSource(graph[operand])) continue;
      const int theirs = partition.group_of[static_cast<size_t>(operand)];
      if (theirs != partition.group_of[static_cast<size_t>(id)]) {
        escapes[static_cast<size_t>(operand)] = true;
      }
    }
  }
  for (ValueId output : graph.outputs()) {
    escapes[static_cast<size_t>(RootOf(graph, output))] = true;
  }
  return escapes;
}

// A concatenation whose operands are written where they belong.
bool NeedsNoKernel(const Graph& graph, const Group& group,
                   const std::vector<Containment>& contained) {
  if (group.anchor == kNoValue || graph[group.anchor].op != Op::kConcat) return false;
  const ValueId first = graph[group.anchor].operands[0];
  return contained[static_cast<size_t>(first)].container == group.anchor;
}

// Every value of the group is without elements.
bool GivesNothing(const Graph& graph, const Group& group) {
  return std::all_of(group.members.begin(), group.members.end(),
                     [&](ValueId id) { return graph[id].type.NumElements() == 0; });
}

// Whether a product with weights of few bits may round its rows to 8 bits.
bool RoundsRows(const Graph& fragment) {
  for (ValueId id = 0; id < fragment.size(); ++id) {
    const Value& node = fragment[id];
    if (node.op == Op::kMatMul && node.Has("precision") && node.Word("precision") == "i8" &&
        fragment[node.operands[1]].op == Op::kDequantize) {
      return true;
    }
  }
  return false;
}

bool MultipliesFloat8(const Graph& fragment) {
  for (ValueId id = 0; id < fragment.size(); ++id) {
    if (IsProductOfFloat8(fragment, fragment[id])) return true;
  }
  return false;
}

double ToleranceOf(const Graph& fragment, const Tolerances& tolerances) {
  double tolerance = tolerances.usual;
  if (RoundsRows(fragment)) tolerance = std::max(tolerance, tolerances.of_rounded_rows);
  if (MultipliesFloat8(fragment)) tolerance = std::max(tolerance, tolerances.of_float8);
  return tolerance;
}

std::string LabelOf(const Graph& graph, const Group& group) {
  if (group.anchor != kNoValue && !graph[group.anchor].name.empty()) {
    return graph[group.anchor].name;
  }
  for (ValueId member : group.members) {
    if (!graph[member].name.empty()) return graph[member].name;
  }
  return {};
}

}  // namespace

Result<TaskList> ExtractTasks(const Graph& graph, const Partition& partition,
                              const Tolerances& tolerances, const PlaceRules& rules) {
  const std::vector<bool> escapes = Escapes(graph, partition);
  TaskList list;
  std::map<std::string, int, std::less<>> task_of;
  const std::vector<Containment> contained = FindContained(graph, rules);
  for (const Group& group : partition.groups) {
    if (NeedsNoKernel(graph, group, contained) || GivesNothing(graph, group)) continue;
    Extraction extraction(graph, group, escapes);
    std::vector<ValueId> renumbering;
    Graph fragment = extraction.Run();
    const double tolerance = ToleranceOf(fragment, tolerances);
    Result<Workload> workload = Workload::Create(std::move(fragment), tolerance, &renumbering);
    if (!workload.ok()) {
      return Internal("the task at '" + LabelOf(graph, group) +
                      "' is no workload: " + workload.status().message());
    }
    std::map<ValueId, ValueId> stands_for;
    for (const auto& [source, value] : extraction.sources()) {
      stands_for[renumbering[static_cast<size_t>(source)]] = value;
    }
    TaskCall call;
    call.label = LabelOf(graph, group);
    for (ValueId operand : workload->operands()) call.operands.push_back(stands_for.at(operand));
    if (call.label.empty()) call.label = workload->Summary();
    call.outputs = extraction.outputs();
    const auto [found, inserted] =
        task_of.try_emplace(workload->ToText(), static_cast<int>(list.tasks.size()));
    if (inserted) list.tasks.push_back({*std::move(workload), 0, call.label});
    call.task = found->second;
    ++list.tasks[static_cast<size_t>(call.task)].occurrences;
    list.calls.push_back(std::move(call));
  }
  return list;
}

}  // namespace mlc::graph
