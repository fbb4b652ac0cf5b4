#include "compiler/graph/physical/build_program.h"

#include <array>
#include <chrono>
#include <map>
#include <string>
#include <utility>

#include "compiler/graph/physical/align_views.h"
#include "compiler/graph/physical/concat_place.h"
#include "compiler/graph/physical/extract_tasks.h"
#include "compiler/graph/physical/layout.h"
#include "compiler/graph/physical/lower_views.h"
#include "compiler/graph/physical/memory_plan.h"
#include "compiler/graph/physical/partition.h"
#include "compiler/graph/physical/sink_views.h"

namespace mlc::graph {

namespace {

struct PhysicalPass {
  std::string_view name;
  Result<Graph> (*run)(Graph graph, const PlaceRules& rules);
};

// A pass that no rule concerns.
template <Result<Graph> (*pass)(Graph)>
Result<Graph> Always(Graph graph, const PlaceRules&) {
  return pass(std::move(graph));
}

Result<Graph> Align(Graph graph, const PlaceRules& rules) {
  return AlignViews(std::move(graph), rules.alignment);
}

constexpr PhysicalPass kPasses[] = {
    {"sink_views", Always<SinkViews>},  // contractions and their epilogues meet
    {"choose_layouts", ChooseLayouts},  // every computed value has strides
    {"place_concats", PlaceConcats},    // concatenated values have the strides of the whole
    {"lower_views", LowerViews},        // transposes and reshapes are addresses, or copies
    {"align_views", Align},             // views begin where the device may read from
};
constexpr auto kPassNames = [] {
  std::array<std::string_view, std::size(kPasses) + 1> names;
  for (size_t i = 0; i < std::size(kPasses); ++i) names[i] = kPasses[i].name;
  names.back() = kFuseResiduals;
  return names;
}();

// Turns calls over values into steps over places.
class Assembly {
 public:
  Assembly(const Graph& graph, const MemoryPlan& plan) : graph_(graph), plan_(plan) {
    const std::vector<ValueId> inputs = graph.Inputs();
    for (size_t i = 0; i < inputs.size(); ++i) input_index_[inputs[i]] = static_cast<int>(i);
  }

  Program Run(TaskList list) {
    for (const auto& [input, index] : input_index_) {
      program_.inputs.push_back({graph_[input].name, DensePort(graph_[input].type)});
    }
    for (size_t i = 0; i < graph_.outputs().size(); ++i) {
      const Value& output = graph_[graph_.outputs()[i]];
      const bool named = i < graph_.output_names().size();
      program_.outputs.push_back(
          {named ? graph_.output_names()[i] : std::string(), DensePort(output.type)});
    }
    for (TaskCall& call : list.calls) {
      Step step{call.task, {}, {}, std::move(call.label)};
      for (ValueId operand : call.operands) step.operands.push_back(PlaceOf(operand));
      for (ValueId output : call.outputs) step.outputs.push_back(PlaceOf(output));
      program_.steps.push_back(std::move(step));
    }
    program_.tasks = std::move(list.tasks);
    program_.arena_bytes = plan_.arena_bytes;
    program_.unshared_bytes = plan_.unshared_bytes;
    return std::move(program_);
  }

 private:
  static TensorType DensePort(const TensorType& type) { return {type.dtype, type.dims, {}}; }

  Placement PlaceOf(ValueId value) {
    const ValueId root = RootOf(graph_, value);
    Placement place;
    if (graph_[root].op == Op::kInput) {
      place = {Placement::Kind::kModelInput, input_index_.at(root), 0};
    } else if (graph_[root].op == Op::kConstant) {
      place = {Placement::Kind::kConstant, ConstantIndex(root), 0};
    } else {
      place = plan_.places[static_cast<size_t>(root)];
    }
    place.byte_offset += OffsetOf(graph_, value) * SizeOf(graph_[root].type.dtype);
    return place;
  }

  int ConstantIndex(ValueId root) {
    const TensorDataRef& data = graph_[root].data;  // splats are part of the workload
    const auto [found, inserted] = constant_index_.try_emplace(
        data->bytes.data(), static_cast<int>(program_.constants.size()));
    if (inserted) program_.constants.push_back(data);
    return found->second;
  }

  const Graph& graph_;
  const MemoryPlan& plan_;
  std::map<ValueId, int> input_index_;
  std::map<const std::byte*, int> constant_index_;  // by first byte; data is shared, not compared
  Program program_;
};

using Clock = std::chrono::steady_clock;

void Report(const PhysicalOptions& options, std::string_view pass, Clock::time_point start,
            bool changed, const Graph& graph) {
  if (!options.after_pass) return;
  const std::chrono::duration<double, std::milli> took = Clock::now() - start;
  options.after_pass({pass, took.count(), changed}, graph);
}

// What only a lowered graph or a workload may hold, and constants known by digest alone.
Status CheckLogical(const Graph& graph) {
  for (ValueId id = 0; id < graph.size(); ++id) {
    const Value& node = graph[id];
    const std::string what = "%" + std::to_string(id) + " = " + std::string(ToText(node.op));
    if (node.op == Op::kView || node.op == Op::kCopy || node.op == Op::kWeight) {
      return InvalidArgument(what + " does not belong into a model's graph");
    }
    if (node.op == Op::kConstant && !node.data && !node.Has("value")) {
      return InvalidArgument(what + " has no data: the graph's text names it by digest only");
    }
  }
  return {};
}

}  // namespace

std::span<const std::string_view> PhysicalPassNames() { return kPassNames; }

Result<Program> BuildPhysical(Graph graph, const PhysicalOptions& options) {
  MLC_TRY(CheckLogical(graph));
  for (const PhysicalPass& pass : kPasses) {
    const auto start = Clock::now();
    graph = MLC_TRY(pass.run(std::move(graph), options.rules));
    if (Status status = graph.Verify(); !status.ok()) {
      return Internal("pass " + std::string(pass.name) + " broke the graph: " + status.message());
    }
    Report(options, pass.name, start, true, graph);
  }
  const auto start = Clock::now();
  const Partition partition =
      MLC_TRY(PartitionGraph(graph, {options.fuse_residuals, options.rules}));
  Report(options, kFuseResiduals, start, partition.residuals > 0, graph);
  const Tolerances tolerances = {options.tolerance, options.rounded_tolerance,
                                 options.float8_tolerance};
  TaskList list = MLC_TRY(ExtractTasks(graph, partition, tolerances, options.rules));
  const MemoryPlan plan = PlanMemory(graph, list, options.rules);
  return Assembly(graph, plan).Run(std::move(list));
}

}  // namespace mlc::graph
