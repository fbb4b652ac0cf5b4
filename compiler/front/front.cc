#include "compiler/front/front.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "compiler/graph/passes/pipeline.h"
#include "compiler/graph/physical/build_program.h"

namespace mlc::front {

namespace {

// Stands between the logical and the physical passes.
constexpr std::string_view kPrecisionPass = "precision";

bool IsLogical(std::string_view name) {
  const auto names = graph::PhysicalPassNames();
  return name != kPrecisionPass && std::find(names.begin(), names.end(), name) == names.end();
}

bool IsWanted(const FrontOptions& options, std::string_view pass) {
  return options.print &&
         (options.print_after.contains(pass) || options.print_after.contains("all"));
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
    if (IsLogical(name)) result.print_after.insert(name);
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
  result.tolerance = ToleranceOf(options);
  result.rules = options.rules;
  result.after_pass = [&options, trace](const graph::PhysicalReport& report,
                                        const graph::Graph& graph) {
    if (trace != nullptr) {
      trace->entries.push_back({std::string(report.pass), true, report.milliseconds, graph.size()});
    }
    if (IsWanted(options, report.pass)) options.print(report.pass, graph);
  };
  return result;
}

Status RunPrecision(graph::Graph& graph, const FrontOptions& options, PassTrace* trace) {
  const auto start = std::chrono::steady_clock::now();
  const bool changed = MLC_TRY(graph::ConvertPrecision(graph, options.precision));
  if (const Status status = graph.Verify(); !status.ok()) {
    return Internal("pass precision broke the graph: " + status.message());
  }
  if (trace != nullptr) {
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    trace->entries.push_back({std::string(kPrecisionPass), changed, took.count(), graph.size()});
  }
  if (IsWanted(options, kPrecisionPass)) options.print(kPrecisionPass, graph);
  return {};
}

}  // namespace

graph::PlaceRules PlaceRulesOf(const target::Target& target) {
  graph::PlaceRules rules;
  if (!target.is_cuda()) return rules;
  rules.alignment = 16;
  rules.write_over_operands = false;
  return rules;
}

double ToleranceOf(const FrontOptions& options) {
  return options.tolerance > 0 ? options.tolerance : graph::ToleranceOf(options.precision);
}

std::vector<std::string> PassNames() {
  std::vector<std::string> names;
  for (const graph::Pass& pass : graph::Passes()) names.emplace_back(pass.name);
  names.emplace_back(kPrecisionPass);
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
  MLC_TRY(RunPrecision(graph, options, trace));
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
