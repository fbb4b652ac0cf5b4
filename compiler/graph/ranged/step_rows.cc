#include "compiler/graph/ranged/step_rows.h"

#include <algorithm>

namespace mlc::graph {

namespace {

const Workload& WorkloadOf(const Program& program, size_t step) {
  const auto task = static_cast<size_t>(program.steps[step].task);
  return program.tasks[task].workload;
}

int64_t BytesOf(const TensorType& type) { return type.Extent() * SizeOf(type.dtype); }

// Which steps wrote what lies in a part of the arena.
class ArenaWriters {
 public:
  void Write(const Placement& place, const TensorType& type, int step, int output) {
    if (place.kind != Placement::Kind::kArena) return;
    writes_.push_back({place.byte_offset, place.byte_offset + BytesOf(type), step, output,
                       type.Extent() == type.NumElements()});
  }
  void Find(const Placement& place, const TensorType& type, int operand,
            std::vector<Source>& sources) const {
    if (place.kind != Placement::Kind::kArena) return;
    const int64_t begin = place.byte_offset, end = begin + BytesOf(type);
    // The last writings count. One with gaps leaves what is between its elements.
    for (size_t i = writes_.size(); i-- > 0;) {
      const Writing& writing = writes_[i];
      if (writing.end <= begin || end <= writing.begin || IsCovered(i, begin, end)) continue;
      sources.push_back({operand, writing.step, writing.output, writing.begin - begin});
    }
  }

 private:
  struct Writing {
    int64_t begin, end;
    int step, output;
    bool has_no_gaps;  // in any order of dimensions
  };

  // Whether one later writing without gaps covers all of a writing that lies within [begin, end).
  bool IsCovered(size_t at, int64_t begin, int64_t end) const {
    const int64_t first = std::max(begin, writes_[at].begin);
    const int64_t last = std::min(end, writes_[at].end);
    return std::any_of(writes_.begin() + static_cast<std::ptrdiff_t>(at) + 1, writes_.end(),
                       [&](const Writing& later) {
                         return later.has_no_gaps && later.begin <= first && last <= later.end;
                       });
  }

  std::vector<Writing> writes_;
};

bool SameNode(const Value& a, const Value& b) {
  return a.op == b.op && a.scalar == b.scalar && a.operands == b.operands &&
         a.type.dtype == b.type.dtype && a.type.rank() == b.type.rank();
}

// Whether they compute the same but for lengths.
bool SameWork(const Graph& exact, const Graph& padded) {
  if (exact.size() != padded.size() || exact.outputs() != padded.outputs()) return false;
  for (ValueId id = 0; id < exact.size(); ++id) {
    if (!SameNode(exact[id], padded[id])) return false;
    for (size_t a = 0; a < exact[id].type.dims.size(); ++a) {
      if (exact[id].type.dims[a] > padded[id].type.dims[a]) return false;
    }
  }
  return true;
}

bool SamePlaces(const std::vector<Placement>& a, const std::vector<Placement>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.kind == y.kind && (x.kind == Placement::Kind::kConstant || x.index == y.index);
  });
}

bool SameSteps(const Program& exact, const Program& padded) {
  if (exact.steps.size() != padded.steps.size()) return false;
  for (size_t s = 0; s < exact.steps.size(); ++s) {
    if (!SameWork(WorkloadOf(exact, s).graph(), WorkloadOf(padded, s).graph()) ||
        !SamePlaces(exact.steps[s].operands, padded.steps[s].operands) ||
        !SamePlaces(exact.steps[s].outputs, padded.steps[s].outputs)) {
      return false;
    }
  }
  const auto from = SourcesOf(exact), padded_from = SourcesOf(padded);
  const auto same = [](const Source& a, const Source& b) {
    return a.operand == b.operand && a.step == b.step && a.output == b.output;
  };
  for (size_t s = 0; s < from.size(); ++s) {
    if (!std::ranges::equal(from[s], padded_from[s], same)) return false;
  }
  return true;
}

// Reads all elements along an axis, so that masks of its operands have done their work.
bool Gathers(Op op) {
  switch (op) {
    case Op::kMatMul:
    case Op::kConv:
    case Op::kAttention:
    case Op::kPool:
    case Op::kReduce:
    case Op::kLayerNorm:
      return true;
    default:
      return false;
  }
}

// Marks the values of a step that masks of lengths may have set.
class MaskedValues {
 public:
  MaskedValues(const Program& program, int hidden_input)
      : program_(program), hidden_input_(hidden_input), sources_(SourcesOf(program)) {
    for (size_t s = 0; s < program.steps.size(); ++s) AddStep(s);
  }

  bool IsMasked(size_t step) const { return std::ranges::count(outputs_[step], true) != 0; }

 private:
  bool IsMaskedOperand(size_t step, size_t operand) const {
    const Placement& place = program_.steps[step].operands[operand];
    if (place.kind == Placement::Kind::kModelInput) return place.index == hidden_input_;
    return std::ranges::any_of(sources_[step], [&](const Source& source) {
      return source.operand == static_cast<int>(operand) &&
             outputs_[static_cast<size_t>(source.step)][static_cast<size_t>(source.output)];
    });
  }

  void AddStep(size_t step) {
    const Workload& workload = WorkloadOf(program_, step);
    std::vector<bool> masked(static_cast<size_t>(workload.graph().size()), false);
    for (size_t k = 0; k < workload.operands().size(); ++k) {
      masked[static_cast<size_t>(workload.operands()[k])] = IsMaskedOperand(step, k);
    }
    for (ValueId id = 0; id < workload.graph().size(); ++id) {
      const Value& node = workload.graph()[id];
      if (Gathers(node.op)) continue;
      for (const ValueId operand : node.operands) {
        if (operand != kNoValue && masked[static_cast<size_t>(operand)]) {
          masked[static_cast<size_t>(id)] = true;
        }
      }
    }
    std::vector<bool>& outputs = outputs_.emplace_back();
    for (const ValueId id : workload.outputs()) {
      outputs.push_back(masked[static_cast<size_t>(id)]);
    }
  }

  const Program& program_;
  const int hidden_input_;
  const std::vector<std::vector<Source>> sources_;
  std::vector<std::vector<bool>> outputs_;  // by step
};

bool ReadsByIndex(Op op) {
  return op == Op::kGather || op == Op::kGatherElements || op == Op::kGatherND ||
         op == Op::kScatterElements || op == Op::kScatterND;
}

// Finds the steps that indices come from. What lies beyond the length in an index is read, too,
// and is to be what the program computes, which is in range.
class IndexSteps {
 public:
  explicit IndexSteps(const Program& program)
      : program_(program), sources_(SourcesOf(program)), found_(program.steps.size(), false) {
    for (size_t s = 0; s < program.steps.size(); ++s) {
      const Graph& graph = WorkloadOf(program, s).graph();
      std::vector<bool> seen(static_cast<size_t>(graph.size()), false);
      for (ValueId id = 0; id < graph.size(); ++id) {
        if (ReadsByIndex(graph[id].op)) FollowNode(s, graph[id].operands[1], seen);
      }
    }
  }

  bool Has(size_t step) const { return found_[step]; }

 private:
  void FollowNode(size_t step, ValueId id, std::vector<bool>& seen) {
    if (id == kNoValue || seen[static_cast<size_t>(id)]) return;
    seen[static_cast<size_t>(id)] = true;
    const Workload& workload = WorkloadOf(program_, step);
    const auto place = std::ranges::find(workload.operands(), id);
    if (place != workload.operands().end()) {
      const auto operand = static_cast<int>(place - workload.operands().begin());
      for (const Source& source : sources_[step]) {
        if (source.operand == operand) FollowStep(source.step);
      }
    }
    for (const ValueId operand : workload.graph()[id].operands) FollowNode(step, operand, seen);
  }

  void FollowStep(int step) {
    if (found_[static_cast<size_t>(step)]) return;
    found_[static_cast<size_t>(step)] = true;
    for (const Source& source : sources_[static_cast<size_t>(step)]) FollowStep(source.step);
  }

  const Program& program_;
  const std::vector<std::vector<Source>> sources_;
  std::vector<bool> found_;
};

// Rows of the results; -1: all, or results differ in how many they have.
int64_t RowsOfStep(const Workload& exact, const Workload& padded) {
  int64_t rows = -1;
  for (const ValueId id : padded.outputs()) {
    const TensorType& type = padded.graph()[id].type;
    const int axis = RowAxis(type);
    if (axis < 0 || !IsFloat(type.dtype)) return -1;
    const int64_t length = exact.graph()[id].type.dims[static_cast<size_t>(axis)];
    if (rows >= 0 && length != rows) return -1;
    rows = length;
  }
  return rows;
}

}  // namespace

std::vector<std::vector<Source>> SourcesOf(const Program& program) {
  std::vector<std::vector<Source>> sources;
  ArenaWriters writers;
  for (size_t s = 0; s < program.steps.size(); ++s) {
    const Step& step = program.steps[s];
    std::vector<Source>& of_step = sources.emplace_back();
    const Workload& workload = WorkloadOf(program, s);
    const auto type_of = [&](ValueId id) -> const TensorType& { return workload.graph()[id].type; };
    for (size_t k = 0; k < step.operands.size(); ++k) {
      writers.Find(step.operands[k], type_of(workload.operands()[k]), static_cast<int>(k), of_step);
    }
    for (size_t k = 0; k < step.outputs.size(); ++k) {
      writers.Write(step.outputs[k], type_of(workload.outputs()[k]), static_cast<int>(s),
                    static_cast<int>(k));
    }
  }
  return sources;
}

int RowAxis(const TensorType& type) {
  const std::vector<int64_t> strides = type.EffectiveStrides();
  int axis = -1;
  for (size_t a = 0; a < strides.size(); ++a) {
    if (type.dims[a] < 2) continue;
    if (axis < 0 || strides[a] > strides[static_cast<size_t>(axis)]) axis = static_cast<int>(a);
  }
  if (axis < 0) return -1;
  int64_t reach = 1;
  for (size_t a = 0; a < strides.size(); ++a) {
    if (static_cast<int>(a) != axis) reach += (type.dims[a] - 1) * strides[a];
  }
  return reach <= strides[static_cast<size_t>(axis)] ? axis : -1;
}

int64_t RowElements(const TensorType& type) {
  const int axis = RowAxis(type);
  return axis < 0 ? 0 : type.EffectiveStrides()[static_cast<size_t>(axis)];
}

std::optional<std::vector<int64_t>> RowsOfSteps(const Program& exact, const Program& padded,
                                                int hidden_input) {
  if (!SameSteps(exact, padded)) return std::nullopt;
  const MaskedValues masked(padded, hidden_input);
  const IndexSteps indices(padded);
  std::vector<int64_t> rows;
  for (size_t s = 0; s < padded.steps.size(); ++s) {
    const bool whole = masked.IsMasked(s) || indices.Has(s);
    rows.push_back(whole ? -1 : RowsOfStep(WorkloadOf(exact, s), WorkloadOf(padded, s)));
  }
  return rows;
}

}  // namespace mlc::graph
