#include "compiler/graph/physical/partition.h"

#include <algorithm>
#include <map>
#include <utility>

#include "compiler/graph/physical/cache_updates.h"
#include "compiler/graph/physical/computed_mask.h"
#include "compiler/graph/physical/few_rows.h"
#include "compiler/graph/physical/fuser.h"
#include "compiler/graph/physical/image_reader.h"
#include "compiler/graph/physical/views.h"

namespace mlc::graph {

namespace {

constexpr size_t kMaxResults = 3;
// Far more than any network fuses, and far less than makes a kernel that compiles for minutes, or a
// workload that a server refuses.
constexpr size_t kMaxMembers = 256;
// Arithmetic per element, in table units, below which computing it again at each read is free.
constexpr double kTrivialFlops = 4;

bool IsPointwise(const Value& node) { return node.op == Op::kPointwise || node.op == Op::kCast; }

bool IsByte(DType dtype) { return dtype == DType::kU8 || dtype == DType::kI8; }

// Movement whose result a pointwise task can take element by element.
bool IsFusableMovement(const Value& node) {
  switch (node.op) {
    case Op::kPad:
    case Op::kGather:
    case Op::kGatherElements:
    case Op::kGatherND:
    case Op::kTile:
    case Op::kTrilu:
    case Op::kSlice:
      return true;
    default:
      return false;
  }
}

// Anchors that read operand 0 once per row, or few times, and take what computes it with them.
bool TakesPrologue(const Value& node) {
  switch (node.op) {
    case Op::kReduce:
    case Op::kSoftmax:
    case Op::kLogSoftmax:
    case Op::kLayerNorm:
    case Op::kPool:
      return true;
    default:
      return false;
  }
}

bool TakesEpilogue(Op op) {
  switch (op) {
    case Op::kScatterElements:
    case Op::kScatterND:
    case Op::kCumSum:
    case Op::kNonZero:
    case Op::kSuppress:
    case Op::kConcat:
    case Op::kResize:
      return false;
    default:
      return true;
  }
}

class Partitioner {
 public:
  Partitioner(const Graph& graph, const PartitionOptions& options)
      : graph_(graph), options_(options), fuser_(graph) {}

  Result<Partition> Run() {
    for (ValueId id = 0; id < graph_.size(); ++id) {
      if (TakesPrologue(graph_[id])) TakeDecoding(graph_[id].operands[0], id);
      if (graph_[id].op == Op::kAttention) TakeSource(ComputedMaskOf(graph_, id), id);
      if (IsNormOfFewRows(id)) TakeSource(WidenedRowsOf(graph_, id), id);
    }
    // Later anchors choose first: a residual add joins the later of its two producers.
    for (ValueId id = graph_.size(); id-- > 0;) {
      if (!IsAnchor(graph_[id].op) || !TakesEpilogue(graph_[id].op)) continue;
      if (IsProductOfFewRows(id)) TakeHalves(id);
      GrowEpilogue(id);
    }
    for (ValueId id = 0; id < graph_.size(); ++id) GrowRegion(id);
    for (ValueId id = 0; id < graph_.size(); ++id) TakePrologue(id);
    for (ValueId id = 0; id < graph_.size(); ++id) {
      if (IsProductOfFewRows(id)) TakeNorm(id);
      if (options_.rules.scatters_compute && IsCacheUpdate(graph_, id)) TakeUpdates(id);
    }
    if (!options_.rules.scatters_compute) return Order();
    for (const auto& [a, b] : UpdatesTogether(graph_)) {
      TryMerge(fuser_.GroupOf(a), fuser_.GroupOf(b));
    }
    return Order();
  }

 private:
  const std::vector<int64_t>& DimsOf(ValueId id) const { return graph_[id].type.dims; }

  bool IsProductOfFewRows(ValueId id) const {
    return mlc::graph::IsProductOfFewRows(graph_, id, options_.rules.few_rows);
  }
  bool IsNormOfFewRows(ValueId id) const {
    return mlc::graph::IsNormOfFewRows(graph_, id, options_.rules.few_rows);
  }

  void TakeHalves(ValueId product) {
    if (IsOutput(product)) return;
    for (const ValueId view : HalvesOf(graph_, fuser_, product)) {
      fuser_.Merge(fuser_.GroupOf(product), fuser_.GroupOf(view));
      halved_[product] = view;
    }
  }

  // The norm of the product's rows with its epilogue, if nothing else reads it.
  void TakeNorm(ValueId product) {
    const ValueId rows = graph_[product].operands[0];
    if (IsSource(graph_[rows])) return;
    const ValueId producer = fuser_.GroupOf(rows);
    const ValueId consumer = fuser_.GroupOf(product);
    const ValueId norm = fuser_.Anchor(producer);
    if (norm == kNoValue || !IsNormOfFewRows(norm) || DimsOf(rows) != DimsOf(norm)) return;
    if (fuser_.Results(producer) != std::vector<ValueId>{rows} || HasOutput(producer)) return;
    if (fuser_.Readers(producer) != std::vector<ValueId>{consumer}) return;
    if (ReadOnlyAsPrologue(rows, product)) TryMerge(producer, consumer);
  }

  // What computes the update of a cache, and small values beside it.
  void TakeUpdates(ValueId scatter) {
    for (const ValueId group : UpdatesOf(graph_, fuser_, scatter)) {
      TryMerge(group, fuser_.GroupOf(scatter));
    }
    for (ValueId id = 0; id < graph_.size(); ++id) {
      if (IsSource(graph_[id]) || fuser_.GroupOf(id) != id) continue;
      if (IsBeside(graph_, fuser_, id, scatter)) TryMerge(id, fuser_.GroupOf(scatter));
    }
  }

  // Of what an epilogue computes.
  const std::vector<int64_t>& EpilogueDims(ValueId anchor) const {
    const auto halved = halved_.find(anchor);
    return DimsOf(halved == halved_.end() ? anchor : halved->second);
  }

  void GrowEpilogue(ValueId anchor) {
    for (ValueId id = anchor + 1; id < graph_.size(); ++id) {
      const ValueId group = fuser_.GroupOf(anchor);
      const Value& node = graph_[id];
      if (!IsPointwise(node) || node.type.dims != EpilogueDims(anchor)) continue;
      if (fuser_.Anchor(fuser_.GroupOf(id)) != kNoValue) continue;
      const bool reads = std::any_of(
          node.operands.begin(), node.operands.end(),
          [&](ValueId operand) { return operand != kNoValue && fuser_.GroupOf(operand) == group; });
      if (!reads) continue;
      const bool residual = IsResidual(id, anchor);
      if (residual && !options_.fuse_residuals) continue;
      if (!TryMerge(group, fuser_.GroupOf(id))) continue;
      residuals_ += residual ? 1 : 0;
      for (ValueId operand : node.operands) TakeDecoding(operand, id);
    }
  }

  // Takes a value that only `reader` reads and better computes than reads.
  void TakeSource(ValueId value, ValueId reader) {
    if (value == kNoValue || IsOutput(value)) return;
    if (fuser_.users()[static_cast<size_t>(value)].size() != 1) return;
    TryMerge(fuser_.GroupOf(value), fuser_.GroupOf(reader));
  }

  // Takes what turns codes of bytes into `value`, which `reader` alone reads: codes are less to
  // write and to read, and other readers often need them anyway.
  void TakeDecoding(ValueId value, ValueId reader) {
    std::vector<ValueId> chain;
    double flops = 0;
    for (ValueId at = value; at != kNoValue; at = OnlyTensor(graph_[at])) {
      const Value& node = graph_[at];
      if (IsByte(node.type.dtype)) {
        for (ValueId link : chain) TryMerge(fuser_.GroupOf(link), fuser_.GroupOf(reader));
        return;
      }
      flops += node.op == Op::kPointwise ? InfoOf(node.scalar).flops : 1;
      const bool alone = fuser_.users()[static_cast<size_t>(at)].size() == 1 &&
                         fuser_.Members(fuser_.GroupOf(at)).size() == 1 && !IsOutput(at);
      if (!IsPointwise(node) || !alone || flops > kTrivialFlops || DimsOf(at) != DimsOf(value)) {
        return;
      }
      chain.push_back(at);
    }
  }

  // The operand that is no constant; kNoValue if there are several or none.
  ValueId OnlyTensor(const Value& node) const {
    ValueId only = kNoValue;
    for (ValueId operand : node.operands) {
      if (operand == kNoValue || graph_[operand].op == Op::kConstant) continue;
      if (only != kNoValue) return kNoValue;
      only = operand;
    }
    return only;
  }

  bool IsOutput(ValueId value) const {
    const std::vector<ValueId>& outputs = graph_.outputs();
    return std::find(outputs.begin(), outputs.end(), value) != outputs.end();
  }

  // A sum of what a product or convolution computes and a tensor of that size from elsewhere.
  bool IsResidual(ValueId id, ValueId anchor) const {
    const Value& node = graph_[id];
    const Op op = graph_[anchor].op;
    if ((op != Op::kMatMul && op != Op::kConv) || node.op != Op::kPointwise) return false;
    if (node.scalar != ScalarOp::kAdd) return false;
    return std::any_of(node.operands.begin(), node.operands.end(), [&](ValueId operand) {
      const Op source = graph_[operand].op;
      return source != Op::kWeight && source != Op::kConstant &&
             DimsOf(operand) == node.type.dims && fuser_.GroupOf(operand) != fuser_.GroupOf(anchor);
    });
  }

  bool TryMerge(ValueId producer, ValueId consumer) {
    const size_t members = fuser_.Members(producer).size() + fuser_.Members(consumer).size();
    if (members > kMaxMembers || !fuser_.CanMerge(producer, consumer)) return false;
    // Results of the merged task: what either is read for outside of both.
    size_t results = 0;
    for (ValueId group : {producer, consumer}) {
      for (ValueId result : fuser_.Results(group)) {
        results += ReadOutside(result, producer, consumer) ? 1 : 0;
      }
    }
    if (results > kMaxResults) return false;
    fuser_.Merge(producer, consumer);
    return true;
  }

  bool ReadOutside(ValueId value, ValueId a, ValueId b) const {
    if (IsOutput(value)) return true;
    const std::vector<ValueId>& users = fuser_.users()[static_cast<size_t>(value)];
    return std::any_of(users.begin(), users.end(), [&](ValueId user) {
      return fuser_.GroupOf(user) != a && fuser_.GroupOf(user) != b;
    });
  }

  // Takes the producers of a pointwise node or layout copy into its task.
  void GrowRegion(ValueId id) {
    const Value& node = graph_[id];
    if (!IsPointwise(node) && node.op != Op::kCopy) return;
    if (fuser_.Anchor(fuser_.GroupOf(id)) != kNoValue) return;
    for (ValueId operand : node.operands) {
      if (operand == kNoValue || IsSource(graph_[operand])) continue;
      const ValueId producer = fuser_.GroupOf(operand);
      const ValueId consumer = fuser_.GroupOf(id);
      if (producer == consumer || !IsRegion(producer)) continue;
      const bool shared = fuser_.Readers(producer).size() > 1;
      const bool same = DimsOf(operand) == node.type.dims;
      if (same ? (shared && node.op == Op::kCopy) : (shared || Flops(producer) > kTrivialFlops)) {
        continue;
      }
      if (!same && HasOutput(producer)) continue;
      TryMerge(producer, consumer);
    }
  }

  // Pointwise and fusable movement only; copies end their task.
  bool IsRegion(ValueId group) const {
    const std::vector<ValueId>& members = fuser_.Members(group);
    return std::all_of(members.begin(), members.end(), [&](ValueId member) {
      return IsPointwise(graph_[member]) || IsFusableMovement(graph_[member]);
    });
  }

  bool HasOutput(ValueId group) const {
    const std::vector<ValueId> results = fuser_.Results(group);
    return std::any_of(results.begin(), results.end(),
                       [&](ValueId result) { return IsOutput(result); });
  }

  double Flops(ValueId group) const {
    double flops = 0;
    for (ValueId member : fuser_.Members(group)) {
      const Value& node = graph_[member];
      flops += node.op == Op::kPointwise ? InfoOf(node.scalar).flops : 1;
    }
    return flops;
  }

  void TakePrologue(ValueId id) {
    const Value& node = graph_[id];
    const bool image = options_.rules.reads_images && ReadsImage(graph_, id);
    if (!TakesPrologue(node) && !image) return;
    const ValueId operand = node.operands[0];
    if (IsSource(graph_[operand])) return;
    const ValueId producer = fuser_.GroupOf(operand);
    const ValueId consumer = fuser_.GroupOf(id);
    const std::vector<ValueId>& members = fuser_.Members(producer);
    const bool pointwise = std::all_of(members.begin(), members.end(),
                                       [&](ValueId member) { return IsPointwise(graph_[member]); });
    if (!pointwise || producer == consumer) return;
    // Only results without other readers: a row kernel writes its own results alone.
    if (fuser_.Results(producer) != std::vector<ValueId>{operand} || HasOutput(producer)) return;
    if (fuser_.Readers(producer) != std::vector<ValueId>{consumer}) return;
    if (!ReadOnlyAsPrologue(operand, id)) return;
    const bool again = node.op == Op::kPool || node.op == Op::kConv;
    if (again && Flops(producer) > kTrivialFlops) return;
    TryMerge(producer, consumer);
  }

  // The anchor's epilogue may read the same value; then it stays a task of its own.
  bool ReadOnlyAsPrologue(ValueId value, ValueId anchor) const {
    const std::vector<ValueId>& users = fuser_.users()[static_cast<size_t>(value)];
    const std::vector<ValueId>& operands = graph_[anchor].operands;
    return std::all_of(users.begin(), users.end(), [&](ValueId user) { return user == anchor; }) &&
           std::count(operands.begin(), operands.end(), value) == 1;
  }

  // Groups in an order where each reads only earlier ones; among the ready ones the group whose
  // last member comes first in the graph.
  Result<Partition> Order() const {
    Partition partition;
    partition.residuals = residuals_;
    partition.group_of.assign(static_cast<size_t>(graph_.size()), -1);
    std::vector<bool> done(static_cast<size_t>(graph_.size()), false);
    std::vector<std::pair<ValueId, ValueId>> waiting;
    for (ValueId id = 0; id < graph_.size(); ++id) {
      if (!IsSource(graph_[id]) && fuser_.GroupOf(id) == id) {
        waiting.emplace_back(fuser_.Members(id).back(), id);
      }
    }
    std::sort(waiting.begin(), waiting.end());
    while (!waiting.empty()) {
      const auto next = std::find_if(waiting.begin(), waiting.end(), [&](const auto& entry) {
        const std::vector<ValueId> reads = fuser_.Reads(entry.second);
        return std::all_of(reads.begin(), reads.end(),
                           [&](ValueId read) { return done[static_cast<size_t>(read)]; });
      });
      if (next == waiting.end()) return Internal("the tasks of the graph depend on each other");
      done[static_cast<size_t>(next->second)] = true;
      Append(next->second, &partition);
      waiting.erase(next);
    }
    return partition;
  }

  void Append(ValueId group, Partition* partition) const {
    const std::vector<ValueId>& members = fuser_.Members(group);
    if (graph_[members.front()].op == Op::kView) return;
    for (ValueId member : members) {
      partition->group_of[static_cast<size_t>(member)] = static_cast<int>(partition->groups.size());
    }
    partition->groups.push_back({members, fuser_.Anchor(group)});
  }

  const Graph& graph_;
  const PartitionOptions& options_;
  Fuser fuser_;
  std::map<ValueId, ValueId> halved_;  // by product: one of the halves of its columns
  int residuals_ = 0;
};

}  // namespace

bool IsAnchor(Op op) {
  switch (op) {
    case Op::kMatMul:
    case Op::kConv:
    case Op::kAttention:
    case Op::kPool:
    case Op::kReduce:
    case Op::kArg:
    case Op::kSoftmax:
    case Op::kLogSoftmax:
    case Op::kLayerNorm:
    case Op::kCumSum:
    case Op::kScatterElements:
    case Op::kScatterND:
    case Op::kNonZero:
    case Op::kSuppress:
    case Op::kConcat:
    case Op::kResize:
      return true;
    default:
      return false;
  }
}

Result<Partition> PartitionGraph(const Graph& graph, const PartitionOptions& options) {
  return Partitioner(graph, options).Run();
}

}  // namespace mlc::graph
