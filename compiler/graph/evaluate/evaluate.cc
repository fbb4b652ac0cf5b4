#include "compiler/graph/evaluate/evaluate.h"

#include <algorithm>
#include <string>
#include <system_error>
#include <thread>

#include "base/text.h"
#include "compiler/graph/evaluate/evaluate_internal.h"
#include "compiler/graph/packed_matrix.h"
#include "compiler/graph/tensor_io.h"

namespace mlc::graph {

namespace evaluate_internal {

std::vector<int64_t> BroadcastStrides(const std::vector<int64_t>& from,
                                      const std::vector<int64_t>& to) {
  const std::vector<int64_t> dense = DenseStrides(from);
  std::vector<int64_t> strides(to.size(), 0);
  const size_t skip = to.size() - from.size();
  for (size_t i = 0; i < from.size(); ++i) strides[skip + i] = from[i] == 1 ? 0 : dense[i];
  return strides;
}

int64_t CountOf(std::span<const int64_t> dims) {
  int64_t count = 1;
  for (const int64_t dim : dims) count *= dim;
  return count;
}

void OnThreads(int threads, int64_t most, const std::function<void()>& work) {
  const int64_t wanted =
      std::min<int64_t>(threads > 0 ? threads : std::thread::hardware_concurrency(), most);
  std::vector<std::thread> others;
  try {
    while (std::ssize(others) + 1 < wanted) others.emplace_back(work);
  } catch (const std::system_error&) {
    work();  // Out of threads: those that run share the work with this one.
  }
  work();
  for (std::thread& other : others) other.join();
}

bool NextIndex(std::span<const int64_t> dims, std::vector<int64_t>& at) {
  for (size_t i = dims.size(); i-- > 0;) {
    if (++at[i] < dims[i]) return true;
    at[i] = 0;
  }
  return false;
}

}  // namespace evaluate_internal

namespace {

using namespace evaluate_internal;

constexpr int64_t kMaxBytes = int64_t{4} << 30;

// What messages call a node.
std::string Describe(const Value& node) {
  std::string text(node.op == Op::kPointwise ? InfoOf(node.scalar).name : ToText(node.op));
  if (!node.name.empty()) text += " ('" + node.name + "')";
  return text;
}

Result<TensorDataRef> Dispatch(const Value& node, Operands operands, int threads) {
  switch (node.op) {
    case Op::kInput:
    case Op::kWeight:
      return FailedPrecondition("the value of a source comes from the caller");
    case Op::kConstant: {
      TensorDataRef data = ConstantData(node);
      if (data == nullptr) return FailedPrecondition("the constant's data is known by digest only");
      return data;
    }
    case Op::kPointwise:
      return EvaluatePointwise(node, operands, threads);
    case Op::kCast:
      return EvaluateCast(node, operands);
    case Op::kMatMul:
    case Op::kConv:
      return EvaluateContraction(node, operands, threads);
    case Op::kAttention:
      return EvaluateAttention(node, operands);
    case Op::kPool:
      return EvaluatePool(node, operands);
    case Op::kReduce:
    case Op::kArg:
    case Op::kSoftmax:
    case Op::kLogSoftmax:
    case Op::kLayerNorm:
    case Op::kCumSum:
      return EvaluateReduction(node, operands);
    case Op::kGather:
    case Op::kGatherElements:
    case Op::kGatherND:
    case Op::kScatterElements:
    case Op::kScatterND:
      return EvaluateIndexed(node, operands);
    case Op::kNonZero:
    case Op::kSuppress:
      return EvaluateSelection(node, operands);
    case Op::kResize:
      return EvaluateResize(node, operands);
    case Op::kCopy:
      return operands[0];
    case Op::kDequantize:
      return Dequantized(node, operands, false);
    case Op::kView: {
      TensorType dense{operands[0]->dtype, operands[0]->dims, {}};
      return EvaluateView(node, dense, *operands[0]);
    }
    default:
      return EvaluateMovement(node, operands);
  }
}

Status CheckSize(const TensorType& type) {
  if (type.NumElements() <= kMaxBytes / SizeOf(type.dtype)) return {};
  return ResourceExhausted("a value of " + type.ToText() + " is too large to evaluate");
}

// The last node that reads each value; outputs live to the end.
std::vector<ValueId> LastUses(const Graph& graph) {
  std::vector<ValueId> last(static_cast<size_t>(graph.size()), kNoValue);
  for (ValueId id = 0; id < graph.size(); ++id) {
    for (const ValueId operand : graph[id].operands) {
      if (operand != kNoValue) last[static_cast<size_t>(operand)] = id;
    }
  }
  for (const ValueId output : graph.outputs()) last[static_cast<size_t>(output)] = graph.size();
  return last;
}

Status CheckSources(const Graph& graph, const std::vector<TensorDataRef>& sources) {
  size_t count = 0;
  for (ValueId id = 0; id < graph.size(); ++id) {
    const Value& node = graph[id];
    if (node.op != Op::kInput && node.op != Op::kWeight) continue;
    if (count == sources.size()) return InvalidArgument("there are fewer values than sources");
    const TensorData* source = sources[count].get();
    if (source == nullptr || source->dtype != node.type.dtype || source->dims != node.type.dims) {
      return InvalidArgument("source " + std::to_string(count) + " is to be " +
                             TensorType{node.type.dtype, node.type.dims, {}}.ToText());
    }
    ++count;
  }
  if (count == sources.size()) return {};
  return InvalidArgument("there are more values than sources");
}

}  // namespace

Result<TensorDataRef> EvaluateNode(const Value& node, const std::vector<TensorDataRef>& operands,
                                   int threads) {
  MLC_TRY(CheckSize(node.type));
  Result<TensorDataRef> result = Dispatch(node, operands, threads);
  if (!result.ok()) return result.status().WithPrefix(Describe(node));
  return result;
}

Result<std::vector<TensorDataRef>> Evaluate(const Graph& graph,
                                            const std::vector<TensorDataRef>& sources,
                                            int threads) {
  MLC_TRY(CheckSources(graph, sources));
  std::vector<TensorDataRef> values(static_cast<size_t>(graph.size()));
  const std::vector<ValueId> last_uses = LastUses(graph);
  size_t next_source = 0;
  for (ValueId id = 0; id < graph.size(); ++id) {
    const Value& node = graph[id];
    TensorDataRef& value = values[static_cast<size_t>(id)];
    if (node.op == Op::kInput || node.op == Op::kWeight) {
      value = sources[next_source++];
      continue;
    }
    if (last_uses[static_cast<size_t>(id)] == kNoValue) continue;
    if (node.op == Op::kView) {
      const ValueId operand = node.operands[0];
      value =
          MLC_TRY(EvaluateView(node, graph[operand].type, *values[static_cast<size_t>(operand)]));
    } else {
      std::vector<TensorDataRef> operands;
      for (const ValueId operand : node.operands) {
        operands.push_back(operand == kNoValue ? nullptr : values[static_cast<size_t>(operand)]);
      }
      value = MLC_TRY(EvaluateNode(node, operands, threads));
    }
    for (const ValueId operand : node.operands) {
      if (operand != kNoValue && last_uses[static_cast<size_t>(operand)] == id) {
        values[static_cast<size_t>(operand)] = nullptr;
      }
    }
  }
  std::vector<TensorDataRef> outputs;
  for (const ValueId output : graph.outputs())
    outputs.push_back(values[static_cast<size_t>(output)]);
  return outputs;
}

}  // namespace mlc::graph
