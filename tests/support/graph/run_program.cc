#include "tests/support/graph/run_program.h"

#include <algorithm>
#include <string>
#include <utility>

#include "compiler/graph/evaluate/evaluate.h"
#include "compiler/graph/physical/program_text.h"
#include "compiler/graph/physical/strided_data.h"

namespace mlc::graph {

namespace {

// A float of these bytes is a quiet NaN, so that elements never written show.
constexpr std::byte kPoison{0xFF};

class Machine {
 public:
  Machine(const Program& program, const std::vector<TensorDataRef>& inputs)
      : program_(program),
        inputs_(inputs),
        arena_(static_cast<size_t>(program.arena_bytes), kPoison) {
    for (const Port& port : program.outputs) {
      const int64_t bytes = port.type.NumElements() * SizeOf(port.type.dtype);
      outputs_.emplace_back(static_cast<size_t>(bytes), kPoison);
    }
  }

  Result<std::vector<TensorDataRef>> Run() {
    for (const Step& step : program_.steps) {
      MLC_TRY(RunStep(step));
    }
    std::vector<TensorDataRef> results;
    for (size_t i = 0; i < outputs_.size(); ++i) {
      const TensorType& type = program_.outputs[i].type;
      results.push_back(MakeTensorData(type.dtype, type.dims, std::move(outputs_[i])));
    }
    return results;
  }

 private:
  Status RunStep(const Step& step) {
    const Workload& workload = program_.tasks[static_cast<size_t>(step.task)].workload;
    const Graph& graph = workload.graph();
    MLC_TRY(PoisonOutputs(step, workload));
    std::vector<TensorDataRef> sources;
    for (size_t i = 0; i < step.operands.size(); ++i) {
      const TensorType& type = graph[workload.operands()[i]].type;
      const std::byte* first = MLC_TRY(Address(step.operands[i], type));
      sources.push_back(MakeTensorData(type.dtype, type.dims, GatherStrided(first, type)));
    }
    const std::vector<TensorDataRef> results = MLC_TRY(Evaluate(graph, sources));
    for (size_t i = 0; i < step.outputs.size(); ++i) {
      const TensorType& type = graph[workload.outputs()[i]].type;
      std::byte* first = MLC_TRY(Address(step.outputs[i], type));
      ScatterStrided(results[i]->bytes.data(), type, first);
    }
    return {};
  }

  // A kernel may write before it has read everything: a result over an operand shows, unless it is
  // the operand's very place, where each element is read before it is written.
  Status PoisonOutputs(const Step& step, const Workload& workload) {
    for (size_t i = 0; i < step.outputs.size(); ++i) {
      if (step.outputs[i].kind == Placement::Kind::kConstant ||
          step.outputs[i].kind == Placement::Kind::kModelInput) {
        return Internal("a step writes to " + ToText(step.outputs[i]));
      }
      const auto same = [&](const Placement& place) {
        return place.kind == step.outputs[i].kind && place.index == step.outputs[i].index &&
               place.byte_offset == step.outputs[i].byte_offset;
      };
      if (std::any_of(step.operands.begin(), step.operands.end(), same)) continue;
      const TensorType& type = workload.graph()[workload.outputs()[i]].type;
      std::byte* first = MLC_TRY(Address(step.outputs[i], type));
      const std::vector<std::byte> poison(
          static_cast<size_t>(type.NumElements() * SizeOf(type.dtype)), kPoison);
      ScatterStrided(poison.data(), type, first);
    }
    return {};
  }

  Result<std::byte*> Address(const Placement& place, const TensorType& type) {
    std::byte* base = nullptr;
    size_t size = 0;
    const auto index = static_cast<size_t>(place.index);
    switch (place.kind) {
      case Placement::Kind::kModelInput:
        base = const_cast<std::byte*>(inputs_[index]->bytes.data());
        size = inputs_[index]->bytes.size();
        break;
      case Placement::Kind::kConstant:
        base = const_cast<std::byte*>(program_.constants[index]->bytes.data());
        size = program_.constants[index]->bytes.size();
        break;
      case Placement::Kind::kModelOutput:
        base = outputs_[index].data();
        size = outputs_[index].size();
        break;
      case Placement::Kind::kArena:
        base = arena_.data();
        size = arena_.size();
        break;
    }
    const int64_t end = place.byte_offset + type.Extent() * SizeOf(type.dtype);
    if (place.byte_offset < 0 || end > static_cast<int64_t>(size)) {
      return Internal(ToText(place) + " does not hold " + type.ToText());
    }
    return base + place.byte_offset;
  }

  const Program& program_;
  const std::vector<TensorDataRef>& inputs_;
  std::vector<std::byte> arena_;
  std::vector<std::vector<std::byte>> outputs_;
};

}  // namespace

Result<std::vector<TensorDataRef>> RunProgram(const Program& program,
                                              const std::vector<TensorDataRef>& inputs) {
  if (inputs.size() != program.inputs.size()) {
    return InvalidArgument("the program has " + std::to_string(program.inputs.size()) +
                           " inputs, not " + std::to_string(inputs.size()));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const TensorType& type = program.inputs[i].type;
    if (inputs[i]->dtype != type.dtype || inputs[i]->dims != type.dims) {
      return InvalidArgument("input " + std::to_string(i) + " is not " + type.ToText());
    }
  }
  return Machine(program, inputs).Run();
}

}  // namespace mlc::graph
