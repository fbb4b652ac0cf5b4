#include "compiler/package/image_builder.h"

#include <algorithm>
#include <cstddef>

#include "compiler/package/in_place.h"

namespace mlc::package {

int64_t AddPorts(ImageBuilder& builder, const std::vector<graph::Port>& ports) {
  std::vector<mlc_port> rows;
  for (const graph::Port& port : ports) {
    mlc_port row = {};
    row.bytes = port.type.NumElements() * SizeOf(port.type.dtype);
    row.rank = port.type.rank();
    row.dtype = static_cast<int32_t>(port.type.dtype);
    rows.push_back(row);
  }
  const int64_t table = builder.AddTable(rows);
  for (size_t i = 0; i < ports.size(); ++i) {
    const auto at = table + static_cast<int64_t>(i * sizeof(mlc_port));
    const auto name = static_cast<int64_t>(offsetof(mlc_port, name));
    const auto dims = static_cast<int64_t>(offsetof(mlc_port, dims));
    builder.PointToText(at + name, builder.AddText(ports[i].name));
    builder.PointToText(at + dims, builder.AddDims(ports[i].type.dims));
  }
  return table;
}

namespace {

mlc_operand OperandOf(const graph::Placement& place, const WeightsPlan& weights) {
  switch (place.kind) {
    case graph::Placement::Kind::kModelInput:
      return {MLC_AT_INPUT, place.index, place.byte_offset};
    case graph::Placement::Kind::kModelOutput:
      return {MLC_AT_OUTPUT, place.index, place.byte_offset};
    case graph::Placement::Kind::kArena:
      return {MLC_AT_ARENA, 0, place.byte_offset};
    case graph::Placement::Kind::kConstant:
      return {MLC_AT_WEIGHTS, 0, weights.raw_offset.at(place.index) + place.byte_offset};
  }
  return {};
}

// Where each parameter of the step's kernel lives.
std::vector<mlc_operand> OperandsOf(int step_index, const graph::Step& step,
                                    const TaskKernel& kernel, const WeightsPlan& weights) {
  std::vector<mlc_operand> rows;
  for (const schedule::Binding& binding : kernel.lowered.bindings) {
    const auto index = static_cast<size_t>(binding.index);
    switch (binding.kind) {
      case schedule::Binding::Kind::kOperand:
        rows.push_back(OperandOf(step.operands[index], weights));
        break;
      case schedule::Binding::Kind::kOutput:
        rows.push_back(OperandOf(step.outputs[index], weights));
        break;
      case schedule::Binding::Kind::kPrepared:
        rows.push_back(
            {MLC_AT_WEIGHTS, 0,
             weights.prepared_offset.at({step_index, kernel.is_substitute, binding.index})});
        break;
    }
  }
  if (kernel.lowered.kernel.limit >= 0) rows.push_back({MLC_AT_LIMIT, 0, 0});
  return rows;
}

// Which of the operands is the port. REQUIRES: one is.
int32_t PlaceOf(const std::vector<mlc_operand>& operands, int32_t kind, int32_t index) {
  const auto found = std::ranges::find_if(operands, [&](const mlc_operand& operand) {
    return operand.kind == kind && operand.index == index;
  });
  return static_cast<int32_t>(found - operands.begin());
}

}  // namespace

int64_t AddSteps(ImageBuilder& builder, const graph::Program& program, const Plan& plan,
                 std::span<const TaskKernel* const> kernels, const WeightsPlan& weights,
                 const std::function<mlc_step(const TaskKernel&)>& needs,
                 std::span<const int64_t> phases, mlc_image& image) {
  std::vector<mlc_step> rows;
  std::vector<int64_t> operands;
  for (int s = plan.first_step; s < plan.first_step + plan.step_count; ++s) {
    const graph::Step& step = program.steps[static_cast<size_t>(s)];
    const TaskKernel& kernel = *kernels[static_cast<size_t>(step.task)];
    const std::vector<mlc_operand> places = OperandsOf(s, step, kernel, weights);
    operands.push_back(builder.AddTable(places));
    mlc_step row = needs(kernel);
    row.operand_count = static_cast<int32_t>(places.size());
    std::ranges::fill(row.copied, -1);
    std::ranges::fill(row.copy, -1);
    size_t copies = 0;
    for (const InPlacePair& pair : InPlacePairsOf(program, plan, s, kernel)) {
      row.copied[copies] = PlaceOf(places, MLC_AT_INPUT, pair.input);
      row.copy[copies++] = PlaceOf(places, MLC_AT_OUTPUT, pair.output);
    }
    image.operand_count += row.operand_count + 2;
    image.workspace_bytes = std::max(image.workspace_bytes, row.workspace_bytes);
    image.thread_bytes = std::max(image.thread_bytes, row.thread_bytes);
    rows.push_back(row);
  }
  const int64_t table = builder.AddTable(rows);
  for (size_t s = 0; s < rows.size(); ++s) {
    const auto row = table + static_cast<int64_t>(s * sizeof(mlc_step));
    const auto task =
        static_cast<size_t>(program.steps[static_cast<size_t>(plan.first_step) + s].task);
    const auto at = [&](size_t member) { return row + static_cast<int64_t>(member); };
    if (!phases.empty()) builder.PointToTable(at(offsetof(mlc_step, phases)), phases[task]);
    builder.PointToTable(at(offsetof(mlc_step, operands)), operands[s]);
    builder.PointToText(at(offsetof(mlc_step, label)),
                        builder.AddText(program.tasks[task].workload.Summary()));
  }
  return table;
}

}  // namespace mlc::package
