#include "compiler/graph/graph.h"

#include <algorithm>
#include <functional>
#include <queue>

#include "base/check.h"
#include "compiler/graph/ops.h"

namespace mlc::graph {

TensorDataRef MakeTensorData(DType dtype, std::vector<int64_t> dims, std::vector<std::byte> bytes) {
  auto owner = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  auto data = std::make_shared<TensorData>();
  data->dtype = dtype;
  data->dims = std::move(dims);
  data->bytes = *owner;
  data->owner = std::move(owner);
  return data;
}

int64_t Value::Int(std::string_view key) const {
  return std::get<int64_t>(attrs.find(key)->second);
}
double Value::Float(std::string_view key) const {
  return std::get<double>(attrs.find(key)->second);
}
const std::vector<int64_t>& Value::Ints(std::string_view key) const {
  return std::get<std::vector<int64_t>>(attrs.find(key)->second);
}
const std::string& Value::Word(std::string_view key) const {
  return std::get<std::string>(attrs.find(key)->second);
}

ValueId Graph::Add(Value value) {
  int rank = 0;
  for (const ValueId operand : value.operands) {
    MLC_CHECK(operand == kNoValue || (operand >= 0 && operand < size()))
        << "operand " << operand << " of a new node does not exist";
  }
  if (!value.operands.empty() && value.operands[0] != kNoValue) {
    rank = (*this)[value.operands[0]].type.rank();
  }
  FillDefaults(value, rank);
  values_.push_back(std::move(value));
  return size() - 1;
}

ValueId Graph::Input(TensorType type, std::string name) {
  Value value;
  value.op = Op::kInput;
  value.type = std::move(type);
  value.name = std::move(name);
  return Add(std::move(value));
}

ValueId Graph::Splat(DType dtype, double number) {
  Value value;
  value.op = Op::kConstant;
  value.type.dtype = dtype;
  value.attrs["value"] = number;
  return Add(std::move(value));
}

ValueId Graph::Constant(TensorDataRef data, std::string name) {
  Value value;
  value.op = Op::kConstant;
  value.type.dtype = data->dtype;
  value.type.dims = data->dims;
  value.data = std::move(data);
  value.name = std::move(name);
  return Add(std::move(value));
}

ValueId Graph::Pointwise(ScalarOp op, std::vector<ValueId> operands) {
  Value value;
  value.op = Op::kPointwise;
  value.scalar = op;
  for (const ValueId operand : operands) {
    const TensorType& type = (*this)[operand].type;
    Result<std::vector<int64_t>> dims = BroadcastDims(value.type.dims, type.dims);
    MLC_CHECK(dims.ok()) << dims.status().message();
    value.type.dims = *std::move(dims);
  }
  value.type.dtype = InfoOf(op).gives_bool ? DType::kBool : (*this)[operands.back()].type.dtype;
  value.operands = std::move(operands);
  return Add(std::move(value));
}

std::vector<ValueId> Graph::Inputs() const {
  std::vector<ValueId> inputs;
  for (ValueId id = 0; id < size(); ++id) {
    if ((*this)[id].op == Op::kInput) inputs.push_back(id);
  }
  return inputs;
}

std::vector<std::vector<ValueId>> Graph::Users() const {
  std::vector<std::vector<ValueId>> users(values_.size());
  for (ValueId id = 0; id < size(); ++id) {
    for (const ValueId operand : (*this)[id].operands) {
      if (operand != kNoValue) users[static_cast<size_t>(operand)].push_back(id);
    }
  }
  return users;
}

void Graph::ReplaceUses(ValueId from, ValueId to) {
  for (Value& value : values_) std::replace(value.operands.begin(), value.operands.end(), from, to);
  std::replace(outputs_.begin(), outputs_.end(), from, to);
}

namespace {

// live[v]: an output needs v, or v is an input.
std::vector<bool> FindLive(const Graph& graph) {
  std::vector<bool> live(static_cast<size_t>(graph.size()), false);
  std::vector<ValueId> stack(graph.outputs().begin(), graph.outputs().end());
  for (const ValueId id : graph.Inputs()) stack.push_back(id);
  while (!stack.empty()) {
    const ValueId id = stack.back();
    stack.pop_back();
    if (live[static_cast<size_t>(id)]) continue;
    live[static_cast<size_t>(id)] = true;
    for (const ValueId operand : graph[id].operands) {
      if (operand != kNoValue) stack.push_back(operand);
    }
  }
  return live;
}

}  // namespace

void Graph::Compact() {
  const std::vector<bool> live = FindLive(*this);
  const std::vector<std::vector<ValueId>> users = Users();
  std::vector<int> waiting(values_.size(), 0);
  // The smallest ready id first: a graph that is in order already keeps its order.
  std::priority_queue<ValueId, std::vector<ValueId>, std::greater<>> ready;
  size_t live_count = 0;
  for (ValueId id = 0; id < size(); ++id) {
    const auto index = static_cast<size_t>(id);
    if (!live[index]) continue;
    ++live_count;
    for (const ValueId operand : values_[index].operands) waiting[index] += operand != kNoValue;
    if (waiting[index] == 0) ready.push(id);
  }
  std::vector<ValueId> renumbered(values_.size(), kNoValue);
  std::vector<Value> values;
  values.reserve(live_count);
  while (!ready.empty()) {
    const ValueId id = ready.top();
    ready.pop();
    renumbered[static_cast<size_t>(id)] = static_cast<ValueId>(values.size());
    values.push_back(std::move(values_[static_cast<size_t>(id)]));
    for (const ValueId user : users[static_cast<size_t>(id)]) {
      if (live[static_cast<size_t>(user)] && --waiting[static_cast<size_t>(user)] == 0) {
        ready.push(user);
      }
    }
  }
  MLC_CHECK(values.size() == live_count) << "the graph has a cycle";
  for (Value& value : values) {
    for (ValueId& operand : value.operands) {
      if (operand != kNoValue) operand = renumbered[static_cast<size_t>(operand)];
    }
  }
  for (ValueId& output : outputs_) output = renumbered[static_cast<size_t>(output)];
  values_ = std::move(values);
}

}  // namespace mlc::graph
