#include "compiler/graph/physical/memory_plan.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "compiler/graph/physical/concat_place.h"
#include "compiler/graph/physical/lower_views.h"
#include "compiler/graph/physical/views.h"

namespace mlc::graph {

namespace {

constexpr int64_t kAlignment = 64;

int64_t Aligned(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

bool Meet(const Interval& a, const Interval& b) { return a.first <= b.last && b.first <= a.last; }

class Planner {
 public:
  Planner(const Graph& graph, const TaskList& list, const PlaceRules& rules)
      : graph_(graph),
        list_(list),
        rules_(rules),
        contained_(FindContained(graph, rules)),
        buffer_of_(static_cast<size_t>(graph.size()), -1) {
    plan_.places.resize(static_cast<size_t>(graph.size()));
  }

  MemoryPlan Run() {
    BindOutputs();
    FindLifetimes();
    for (size_t step = 0; step < list_.calls.size(); ++step) AddBuffers(static_cast<int>(step));
    const std::vector<int64_t> offsets = PlaceIntervals(buffers_);
    for (size_t i = 0; i < buffers_.size(); ++i) {
      plan_.arena_bytes = std::max(plan_.arena_bytes, offsets[i] + Aligned(buffers_[i].bytes));
    }
    for (const TaskCall& call : list_.calls) {
      for (ValueId output : call.outputs) SetPlace(output, offsets);
    }
    for (ValueId id = 0; id < graph_.size(); ++id) {
      if (graph_[id].op == Op::kConcat) SetPlace(id, offsets);
    }
    return std::move(plan_);
  }

 private:
  void BindOutputs() {
    bound_.assign(static_cast<size_t>(graph_.size()), false);
    for (size_t i = 0; i < graph_.outputs().size(); ++i) {
      const auto root = static_cast<size_t>(RootOf(graph_, graph_.outputs()[i]));
      plan_.places[root] = {Placement::Kind::kModelOutput, static_cast<int>(i), 0};
      bound_[root] = true;
    }
  }

  // The value whose storage holds this root: itself, or the concatenation around it.
  ValueId HolderOf(ValueId root) const {
    while (contained_[static_cast<size_t>(root)].container != kNoValue) {
      root = contained_[static_cast<size_t>(root)].container;
    }
    return root;
  }

  void SetPlace(ValueId value, const std::vector<int64_t>& offsets) {
    const auto holder = static_cast<size_t>(HolderOf(value));
    Placement place = plan_.places[holder];
    if (!bound_[holder]) {
      if (buffer_of_[holder] < 0) return;
      place = {Placement::Kind::kArena, 0, offsets[static_cast<size_t>(buffer_of_[holder])]};
    }
    int64_t elements = 0;
    for (ValueId at = value; at != static_cast<ValueId>(holder);) {
      elements += contained_[static_cast<size_t>(at)].offset;
      at = contained_[static_cast<size_t>(at)].container;
    }
    if (value == static_cast<ValueId>(holder) && bound_[holder]) return;
    place.byte_offset += elements * SizeOf(graph_[value].type.dtype);
    plan_.places[static_cast<size_t>(value)] = place;
  }

  void FindLifetimes() {
    last_use_.assign(static_cast<size_t>(graph_.size()), -1);
    for (size_t step = 0; step < list_.calls.size(); ++step) {
      const auto touch = [&](ValueId value) {
        last_use_[static_cast<size_t>(HolderOf(RootOf(graph_, value)))] = static_cast<int>(step);
      };
      std::for_each(list_.calls[step].operands.begin(), list_.calls[step].operands.end(), touch);
      std::for_each(list_.calls[step].outputs.begin(), list_.calls[step].outputs.end(), touch);
    }
  }

  void AddBuffers(int step) {
    const TaskCall& call = list_.calls[static_cast<size_t>(step)];
    for (ValueId output : call.outputs) {
      const auto holder = static_cast<size_t>(HolderOf(output));
      if (bound_[holder] || buffer_of_[holder] >= 0) continue;
      const TensorType& type = graph_[static_cast<ValueId>(holder)].type;
      const int64_t bytes = type.Extent() * SizeOf(type.dtype);
      plan_.unshared_bytes += Aligned(bytes);
      if (const std::optional<ValueId> dying = DyingOperand(call, step)) {
        const int buffer = buffer_of_[static_cast<size_t>(*dying)];
        buffer_of_[holder] = buffer;
        buffers_[static_cast<size_t>(buffer)].last = last_use_[holder];
        continue;
      }
      buffer_of_[holder] = static_cast<int>(buffers_.size());
      buffers_.push_back({bytes, step, last_use_[holder]});
    }
  }

  // An operand whose place the task's one result may take: element by element the same addresses,
  // not read later, nor read in another way by the same task.
  std::optional<ValueId> DyingOperand(const TaskCall& call, int step) const {
    if (!rules_.write_over_operands || call.outputs.size() != 1 || !IsPointwise(call))
      return std::nullopt;
    if (HolderOf(call.outputs[0]) != call.outputs[0]) return std::nullopt;
    const TensorType& type = graph_[call.outputs[0]].type;
    for (ValueId operand : call.operands) {
      const ValueId root = RootOf(graph_, operand);
      const int buffer = buffer_of_[static_cast<size_t>(root)];
      if (buffer < 0 || HolderOf(root) != root) continue;
      if (buffers_[static_cast<size_t>(buffer)].last != step) continue;
      const TensorType& theirs = graph_[operand].type;
      if (theirs.dims != type.dims || theirs.strides != type.strides ||
          SizeOf(theirs.dtype) != SizeOf(type.dtype) || OffsetOf(graph_, operand) != 0 ||
          theirs.NumElements() != graph_[root].type.NumElements()) {
        continue;
      }
      const auto on_root =
          std::count_if(call.operands.begin(), call.operands.end(),
                        [&](ValueId other) { return RootOf(graph_, other) == root; });
      if (on_root == 1) return root;
    }
    return std::nullopt;
  }

  bool IsPointwise(const TaskCall& call) const {
    const Graph& fragment = list_.tasks[static_cast<size_t>(call.task)].workload.graph();
    for (ValueId id = 0; id < fragment.size(); ++id) {
      const Op op = fragment[id].op;
      if (op != Op::kInput && op != Op::kWeight && op != Op::kConstant && op != Op::kPointwise &&
          op != Op::kCast) {
        return false;
      }
    }
    return true;
  }

  const Graph& graph_;
  const TaskList& list_;
  const PlaceRules rules_;
  const std::vector<Containment> contained_;
  MemoryPlan plan_;
  std::vector<bool> bound_;     // values that are a model output's buffer
  std::vector<int> last_use_;   // step, by holder
  std::vector<int> buffer_of_;  // by holder; -1 where none
  std::vector<Interval> buffers_;
};

// The start of the smallest gap that fits between the taken ranges, else the end of the last.
int64_t BestFit(std::vector<std::pair<int64_t, int64_t>> taken, int64_t bytes) {
  std::sort(taken.begin(), taken.end());
  int64_t end = 0;
  int64_t best = -1;
  int64_t best_gap = 0;
  for (const auto& [begin, stop] : taken) {
    const int64_t gap = begin - end;
    if (gap >= bytes && (best < 0 || gap < best_gap)) {
      best = end;
      best_gap = gap;
    }
    end = std::max(end, stop);
  }
  return best >= 0 ? best : end;
}

}  // namespace

std::vector<int64_t> PlaceIntervals(const std::vector<Interval>& intervals) {
  std::vector<size_t> by_size(intervals.size());
  std::iota(by_size.begin(), by_size.end(), size_t{0});
  std::stable_sort(by_size.begin(), by_size.end(),
                   [&](size_t a, size_t b) { return intervals[a].bytes > intervals[b].bytes; });
  std::vector<int64_t> offsets(intervals.size(), 0);
  std::vector<size_t> placed;
  for (size_t i : by_size) {
    std::vector<std::pair<int64_t, int64_t>> taken;
    for (size_t other : placed) {
      if (!Meet(intervals[i], intervals[other])) continue;
      taken.emplace_back(offsets[other], offsets[other] + Aligned(intervals[other].bytes));
    }
    offsets[i] = BestFit(std::move(taken), Aligned(intervals[i].bytes));
    placed.push_back(i);
  }
  return offsets;
}

MemoryPlan PlanMemory(const Graph& graph, const TaskList& list, const PlaceRules& rules) {
  return Planner(graph, list, rules).Run();
}

}  // namespace mlc::graph
