#include "compiler/graph/physical/memory_plan.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "compiler/graph/physical/lower_views.h"
#include "compiler/graph/physical/views.h"

namespace mlc::graph {

namespace {

constexpr int64_t kAlignment = 64;

int64_t Aligned(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

bool Meet(const Interval& a, const Interval& b) { return a.first <= b.last && b.first <= a.last; }

class Planner {
 public:
  Planner(const Graph& graph, const TaskList& list)
      : graph_(graph), list_(list), buffer_of_(static_cast<size_t>(graph.size()), -1) {
    plan_.places.resize(static_cast<size_t>(graph.size()));
  }

  MemoryPlan Run() {
    BindOutputs();
    last_use_.assign(static_cast<size_t>(graph_.size()), -1);
    for (size_t step = 0; step < list_.calls.size(); ++step) {
      for (ValueId operand : list_.calls[step].operands) {
        last_use_[static_cast<size_t>(RootOf(graph_, operand))] = static_cast<int>(step);
      }
    }
    for (size_t step = 0; step < list_.calls.size(); ++step) AddBuffers(static_cast<int>(step));
    const std::vector<int64_t> offsets = PlaceIntervals(buffers_);
    for (ValueId id = 0; id < graph_.size(); ++id) {
      const int buffer = buffer_of_[static_cast<size_t>(id)];
      if (buffer < 0) continue;
      const int64_t offset = offsets[static_cast<size_t>(buffer)];
      plan_.places[static_cast<size_t>(id)] = {Placement::Kind::kArena, 0, offset};
      plan_.arena_bytes = std::max(plan_.arena_bytes,
                                   offset + Aligned(buffers_[static_cast<size_t>(buffer)].bytes));
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

  void AddBuffers(int step) {
    const TaskCall& call = list_.calls[static_cast<size_t>(step)];
    for (ValueId output : call.outputs) {
      const TensorType& type = graph_[output].type;
      const int64_t bytes = type.Extent() * SizeOf(type.dtype);
      if (bound_[static_cast<size_t>(output)]) continue;
      plan_.unshared_bytes += Aligned(bytes);
      const int last = std::max(step, last_use_[static_cast<size_t>(output)]);
      if (const std::optional<ValueId> dying = DyingOperand(call, step)) {
        const int buffer = buffer_of_[static_cast<size_t>(*dying)];
        buffer_of_[static_cast<size_t>(output)] = buffer;
        buffers_[static_cast<size_t>(buffer)].last = last;
        continue;
      }
      buffer_of_[static_cast<size_t>(output)] = static_cast<int>(buffers_.size());
      buffers_.push_back({bytes, step, last});
    }
  }

  // An operand whose place the task's one result may take: element by element the same addresses,
  // read by nobody later, not read in another way by the same task.
  std::optional<ValueId> DyingOperand(const TaskCall& call, int step) const {
    if (call.outputs.size() != 1 || !IsPointwise(call)) return std::nullopt;
    const TensorType& type = graph_[call.outputs[0]].type;
    for (ValueId operand : call.operands) {
      const ValueId root = RootOf(graph_, operand);
      const int buffer = buffer_of_[static_cast<size_t>(root)];
      if (buffer < 0 || buffers_[static_cast<size_t>(buffer)].last != step) continue;
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
  MemoryPlan plan_;
  std::vector<bool> bound_;     // values that are a model output's buffer
  std::vector<int> last_use_;   // step, by root
  std::vector<int> buffer_of_;  // by value; -1 where none
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

MemoryPlan PlanMemory(const Graph& graph, const TaskList& list) {
  return Planner(graph, list).Run();
}

}  // namespace mlc::graph
