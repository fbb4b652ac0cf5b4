#include "compiler/graph/physical/program_text.h"

namespace mlc::graph {

namespace {

std::string PlacesText(const std::vector<Placement>& places) {
  std::string text;
  for (const Placement& place : places) {
    if (!text.empty()) text += ", ";
    text += ToText(place);
  }
  return text;
}

std::string KindText(Placement::Kind kind) {
  switch (kind) {
    case Placement::Kind::kModelInput:
      return "input ";
    case Placement::Kind::kModelOutput:
      return "output ";
    case Placement::Kind::kConstant:
      return "constant ";
    case Placement::Kind::kArena:
      return "arena";
  }
  return {};
}

}  // namespace

std::string ToText(const Placement& place) {
  std::string text = KindText(place.kind);
  const bool arena = place.kind == Placement::Kind::kArena;
  if (!arena) text += std::to_string(place.index);
  if (arena || place.byte_offset != 0) {
    text += '+';
    text += std::to_string(place.byte_offset);
  }
  return text;
}

std::string ToText(const Program& program) {
  std::string text = "program v1 arena=" + std::to_string(program.arena_bytes) +
                     " unshared=" + std::to_string(program.unshared_bytes) + "\n";
  for (size_t i = 0; i < program.inputs.size(); ++i) {
    text += "input " + std::to_string(i) + " : " + program.inputs[i].type.ToText() + "\n";
  }
  for (size_t i = 0; i < program.outputs.size(); ++i) {
    text += "output " + std::to_string(i) + " : " + program.outputs[i].type.ToText() + "\n";
  }
  for (size_t i = 0; i < program.constants.size(); ++i) {
    const TensorData& data = *program.constants[i];
    text += "constant " + std::to_string(i) + " : " +
            TensorType{data.dtype, data.dims, {}}.ToText() + "\n";
  }
  for (size_t i = 0; i < program.tasks.size(); ++i) {
    const Task& task = program.tasks[i];
    text += "task " + std::to_string(i) + " x" + std::to_string(task.occurrences) + " " +
            task.workload.ToText();
    if (text.back() != '\n') text += '\n';
  }
  for (size_t i = 0; i < program.steps.size(); ++i) {
    const Step& step = program.steps[i];
    text += "step " + std::to_string(i) + " task " + std::to_string(step.task) + " (" +
            PlacesText(step.operands) + ") -> (" + PlacesText(step.outputs) + ")\n";
  }
  return text;
}

std::string TaskTable(const Program& program) {
  std::string text;
  for (const Task& task : program.tasks) {
    text += std::to_string(task.occurrences) + "x  " + task.workload.Summary() + "\n";
  }
  text += std::to_string(program.tasks.size()) + " tasks, " + std::to_string(program.steps.size()) +
          " steps, arena " + std::to_string(program.arena_bytes) + " bytes (" +
          std::to_string(program.unshared_bytes) + " without sharing)\n";
  return text;
}

}  // namespace mlc::graph
