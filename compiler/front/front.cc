#include "compiler/front/front.h"

#include <algorithm>
#include <utility>

#include "compiler/graph/passes/pipeline.h"
#include "compiler/graph/physical/build_program.h"

namespace mlc::front {

namespace {

bool IsPhysical(std::string_view name) {
  const auto names = graph::PhysicalPassNames();
  return std::find(names.begin(), names.end(), name) != names.end();
}

Status CheckNames(const FrontOptions& options) {
  const std::vector<std::string> known = PassNames();
  for (const std::string& name : options.print_after) {
    if (name == "all" || std::find(known.begin(), known.end(), name) != known.end()) continue;
    std::string list;
    for (const std::string& pass : known) {
      if (list.find(pass) != std::string::npos) continue;
      list += (list.empty() ? "" : ", ") + pass;
    }
    return InvalidArgument("no pass is named '" + name + "'; there are: " + list);
  }
  return {};
}

graph::PassOptions LogicalOptions(const FrontOptions& options) {
  graph::PassOptions result;
  result.skip = options.skip;
  for (const std::string& name : options.print_after) {
    if (!IsPhysical(name)) result.print_after.insert(name);
  }
  if (options.print) {
    result.print = [&options](const graph::Pass& pass, const graph::Graph& graph) {
      options.print(pass.name, graph);
    };
  }
  return result;
}

graph::PhysicalOptions PhysicalPart(const FrontOptions& options, PassTrace* trace) {
  graph::PhysicalOptions result;
  result.tolerance = options.tolerance;
  result.after_pass = [&options, trace](const graph::PhysicalReport& report,
                                        const graph::Graph& graph) {
    if (trace != nullptr) {
      trace->entries.push_back({std::string(report.pass), true, report.milliseconds, graph.size()});
    }
    const bool wanted =
        options.print_after.contains(report.pass) || options.print_after.contains("all");
    if (wanted && options.print) options.print(report.pass, graph);
  };
  return result;
}

}  // namespace

std::vector<std::string> PassNames() {
  std::vector<std::string> names;
  for (const graph::Pass& pass : graph::Passes()) names.emplace_back(pass.name);
  for (std::string_view name : graph::PhysicalPassNames()) names.emplace_back(name);
  return names;
}

Result<graph::Graph> SimplifyGraph(graph::Graph graph, const FrontOptions& options,
                                   PassTrace* trace) {
  MLC_TRY(CheckNames(options));
  const std::vector<graph::PassReport> reports =
      MLC_TRY(graph::RunPasses(graph, LogicalOptions(options)));
  if (trace != nullptr) {
    for (const graph::PassReport& report : reports) {
      trace->entries.push_back(
          {std::string(report.name), report.changed, report.milliseconds, report.values_after});
    }
  }
  return graph;
}

Result<graph::Program> BuildProgram(graph::Graph graph, const FrontOptions& options,
                                    PassTrace* trace) {
  graph::Graph simplified = MLC_TRY(SimplifyGraph(std::move(graph), options, trace));
  return graph::BuildPhysical(std::move(simplified), PhysicalPart(options, trace));
}

Result<graph::Program> CompileFront(const std::string& model_path,
                                    const graph::onnx::ImportOptions& import,
                                    const FrontOptions& options, PassTrace* trace) {
  MLC_TRY(CheckNames(options));
  graph::Graph graph = MLC_TRY(graph::onnx::ImportOnnx(model_path, import));
  return BuildProgram(std::move(graph), options, trace);
}

}  // namespace mlc::front
