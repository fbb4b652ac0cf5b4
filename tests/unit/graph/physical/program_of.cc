#include "tests/unit/graph/physical/program_of.h"

#include <gtest/gtest.h>

#include <utility>

namespace mlc::graph {

Program ProgramOf(std::string_view graph_text) {
  Result<Graph> graph = Graph::Parse(graph_text);
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  if (!graph.ok()) return {};
  Result<Program> program = BuildPhysical(*std::move(graph), {});
  EXPECT_TRUE(program.ok()) << program.status().message();
  return program.ok() ? *std::move(program) : Program{};
}

std::string OpsOf(const Task& task) {
  std::string text;
  const Graph& graph = task.workload.graph();
  for (ValueId id = 0; id < graph.size(); ++id) {
    const Value& node = graph[id];
    if (node.op == Op::kInput || node.op == Op::kWeight || node.op == Op::kConstant) continue;
    if (!text.empty()) text += ' ';
    text += node.op == Op::kPointwise ? InfoOf(node.scalar).name : ToText(node.op);
  }
  return text;
}

std::string StepsOf(const Program& program) {
  std::string text;
  for (const Step& step : program.steps) {
    if (!text.empty()) text += "; ";
    text += OpsOf(program.tasks[static_cast<size_t>(step.task)]);
  }
  return text;
}

}  // namespace mlc::graph
