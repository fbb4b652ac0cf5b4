#include "compiler/schedule/admission.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "compiler/ir/types.h"
#include "compiler/schedule/fusion/fused.h"

namespace mlc::schedule {
namespace {

using graph::Op;
using graph::Value;
using graph::ValueId;

bool IsSource(Op op) { return op == Op::kInput || op == Op::kWeight || op == Op::kConstant; }

bool HasOne(const std::vector<int64_t>& dims) {
  return std::find(dims.begin(), dims.end(), 1) != dims.end();
}

// Neighbours that one element of a resized value is made from.
double Neighbours(const Value& node, const std::vector<int64_t>& dims) {
  if (node.Word("mode") == "nearest") return 1;
  double neighbours = 1;
  for (size_t d = 0; d < dims.size(); ++d) neighbours *= dims[d] == node.type.dims[d] ? 1 : 2;
  return neighbours;
}

// Counts from the outputs down as schedule::Fused computes: a pointwise node reads operands of its
// own shape at its own place, which others that stand there share; every other read is a new place.
class PlaceCount {
 public:
  explicit PlaceCount(const graph::Workload& workload)
      : graph_(workload.graph()),
        origins_(static_cast<size_t>(graph_.size())),
        is_spread_(static_cast<size_t>(graph_.size()), false) {
    for (ValueId output : workload.outputs()) Start(output, 1);
  }

  double Run() {
    double total = 0;
    for (ValueId id = graph_.size(); id-- > 0;) {
      if (IsSource(graph_[id].op)) continue;
      double places = 0;
      for (const int origin : origins_[static_cast<size_t>(id)]) {
        places += weights_[static_cast<size_t>(origin)];
      }
      total += places;
      if (total > WorkloadLimits::kPlaces) return std::numeric_limits<double>::infinity();
      PassOn(id, places);
    }
    return total;
  }

 private:
  // A reader needs the value at so many places of its own.
  void Start(ValueId id, double places) {
    origins_[static_cast<size_t>(id)].push_back(static_cast<int>(weights_.size()));
    weights_.push_back(places);
  }

  void Share(ValueId from, ValueId to) {
    const std::vector<int>& a = origins_[static_cast<size_t>(from)];
    std::vector<int>& b = origins_[static_cast<size_t>(to)];
    std::vector<int> both;
    std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
    b = std::move(both);
  }

  void PassOn(ValueId id, double places) {
    const Value& node = graph_[id];
    const bool pointwise =
        node.op == Op::kPointwise || node.op == Op::kCast || node.op == Op::kCopy;
    for (size_t i = 0; i < node.operands.size(); ++i) {
      const ValueId operand = node.operands[i];
      if (operand == graph::kNoValue) continue;
      const std::vector<int64_t>& dims = graph_[operand].type.dims;
      Spread(node, operand, is_spread_[static_cast<size_t>(id)]);
      // Where coordinates along a dimension of one are computed, they are so for every read.
      const bool stays = !(is_spread_[static_cast<size_t>(operand)] && HasOne(dims));
      if (pointwise && stays && dims == node.type.dims) {
        Share(id, operand);
      } else {
        Start(operand, places * Reads(node, i, dims));
      }
    }
  }

  void Spread(const Value& node, ValueId operand, bool is_spread) {
    const bool gathers =
        node.op == Op::kGather || node.op == Op::kGatherElements || node.op == Op::kGatherND;
    if (is_spread || gathers) is_spread_[static_cast<size_t>(operand)] = true;
  }

  double Reads(const Value& node, size_t operand, const std::vector<int64_t>& dims) const {
    if (node.op == Op::kResize) return Neighbours(node, dims);
    if (node.op == Op::kGatherND && operand == 1) return static_cast<double>(dims.back());
    return 1;
  }

  const graph::Graph& graph_;
  std::vector<std::vector<int>> origins_;  // ascending, into weights_
  std::vector<double> weights_;
  std::vector<bool> is_spread_;
};

// Counts as such, what is larger in powers of ten.
std::string NumberText(double number) {
  return number < 1e9 ? std::to_string(static_cast<int64_t>(number)) : FloatToText(number);
}

Status Exceeds(const std::string& what, double has, double limit) {
  return InvalidArgument(
      "the workload has " + what + ": " + NumberText(has) + ", and at most " + NumberText(limit) +
      " are accepted: split it into several workloads, as the tools do with a model");
}

Status CheckCounts(const graph::Workload& workload) {
  using Limits = WorkloadLimits;
  const graph::Graph& graph = workload.graph();
  if (graph.size() > Limits::kValues)
    return Exceeds("too many values", graph.size(), Limits::kValues);
  int computed = 0;
  for (ValueId id = 0; id < graph.size(); ++id) {
    const Value& node = graph[id];
    computed += IsSource(node.op) ? 0 : 1;
    if (node.operands.size() > Limits::kOperands) {
      return Exceeds("a node of too many operands", static_cast<double>(node.operands.size()),
                     static_cast<double>(Limits::kOperands));
    }
  }
  if (computed > Limits::kComputed)
    return Exceeds("too many operators", computed, Limits::kComputed);
  if (std::ssize(workload.outputs()) > Limits::kOutputs) {
    return Exceeds("too many outputs", static_cast<double>(workload.outputs().size()),
                   Limits::kOutputs);
  }
  return Status();
}

double Product(const std::vector<int64_t>& sizes, size_t from) {
  double product = 1;
  for (size_t i = from; i < sizes.size(); ++i) product *= static_cast<double>(sizes[i]);
  return product;
}

Status CheckSizes(const graph::Workload& workload) {
  using Limits = WorkloadLimits;
  if (workload.MinBytes() > Limits::kBytes) {
    return Exceeds("too large tensors, in bytes", workload.MinBytes(), Limits::kBytes);
  }
  if (!(workload.Flops() <= Limits::kFlops)) {
    return Exceeds("too much arithmetic, in operations", workload.Flops(), Limits::kFlops);
  }
  const graph::Graph& graph = workload.graph();
  for (ValueId id = 0; id < graph.size(); ++id) {
    const Value& node = graph[id];
    if (node.type.NumElements() == 0) {
      return InvalidArgument("value " + std::to_string(id) +
                             " of the workload has no elements: there is nothing to tune");
    }
    double taps = 1;
    if (node.op == Op::kConv) taps = Product(graph[node.operands[1]].type.dims, 2);
    if (node.op == Op::kPool) taps = Product(node.Ints("kernel"), 0);
    if (taps > Limits::kTaps) return Exceeds("a window of too many taps", taps, Limits::kTaps);
  }
  return Status();
}

// The element types are those that kernels compute with: the graph's own rules know more.
Status CheckTypes(const graph::Workload& workload) {
  const graph::Graph& graph = workload.graph();
  for (ValueId id = 0; id < graph.size(); ++id) {
    const Value& node = graph[id];
    if (node.op != Op::kPointwise) continue;
    std::vector<ir::ExprRef> operands;
    for (ValueId operand : node.operands) {
      const ir::Type type{ComputeType(graph[operand].type.dtype), 1};
      operands.push_back(std::make_shared<const ir::Expr>(ir::Expr{type, ir::IntImm{0}}));
    }
    const Status status = ir::TypeOfApply(node.scalar, operands).status();
    if (!status.ok()) {
      return InvalidArgument("no kernel computes value " + std::to_string(id) +
                             " of the workload: " + status.message());
    }
  }
  return Status();
}

}  // namespace

double PlacesToCompute(const graph::Workload& workload) { return PlaceCount(workload).Run(); }

Status CheckAdmissible(const graph::Workload& workload) {
  MLC_TRY(CheckCounts(workload));
  MLC_TRY(CheckSizes(workload));
  MLC_TRY(CheckTypes(workload));
  if (PlacesToCompute(workload) > WorkloadLimits::kPlaces) {
    return InvalidArgument(
        "the workload reads values repeatedly at different coordinates, more than " +
        NumberText(WorkloadLimits::kPlaces) +
        " times for one element: split it into several workloads, as the tools do with a model");
  }
  return Status();
}

}  // namespace mlc::schedule
