#include "compiler/graph/passes/pipeline.h"

#include <array>
#include <chrono>

#include "compiler/graph/passes/canonicalize_matmul.h"
#include "compiler/graph/passes/cse.h"
#include "compiler/graph/passes/dce.h"
#include "compiler/graph/passes/fold_constants.h"
#include "compiler/graph/passes/fold_scale.h"
#include "compiler/graph/passes/gather_rows.h"
#include "compiler/graph/passes/merge_siblings.h"
#include "compiler/graph/passes/narrow.h"
#include "compiler/graph/passes/recognize_attention.h"
#include "compiler/graph/passes/recognize_norms.h"
#include "compiler/graph/passes/recognize_rotary.h"
#include "compiler/graph/passes/simplify.h"
#include "compiler/graph/passes/spell_out.h"
#include "compiler/graph/passes/spread_norms.h"
#include "compiler/graph/passes/swap_rows.h"

namespace mlc::graph {

namespace {

constexpr Pass kFoldConstants = {"fold_constants", "known values are constants", FoldConstants};
constexpr Pass kSimplify = {"simplify", "no local algebraic rule applies", Simplify};
constexpr Pass kCse = {"cse", "equal computations are one value", EliminateCommonSubexpressions};

constexpr std::array<Pass, 19> kPasses = {{
    kFoldConstants,
    kSimplify,
    kCse,
    {"recognize_norms", "layer norm and softmax are single nodes", RecognizeNorms},
    {kSpreadNorms, "norms of images keep their dimensions", SpreadNorms},
    {"recognize_attention", "attention is a single node", RecognizeAttention, UnfusedAttention},
    {"recognize_rotary", "rotary embeddings join no halves", RecognizeRotary},
    {"fold_scale", "per-channel factors are part of the weights", FoldScale},
    {"canonicalize_matmul", "products with one matrix have rank 2", CanonicalizeMatMul},
    kCse,
    {"swap_rows", "rows of attention's products are not swapped", SwapRowsLater},
    {"narrow", "elements that are never read are not computed", Narrow},
    {"merge_siblings", "one value is multiplied by one matrix", MergeSiblings},
    {"gather_rows", "rows are moved once", GatherRows},
    {"spell_out", "products that have no kernel are sums", SpellOutProducts},
    kFoldConstants,
    kSimplify,
    kCse,
    {"dce", "every value is needed", EliminateDeadCode},
}};

Status CheckNames(const std::set<std::string, std::less<>>& names, bool allow_all) {
  for (const std::string& name : names) {
    if (allow_all && name == "all") continue;
    bool known = false;
    std::string list;
    for (const Pass& pass : kPasses) {
      known = known || pass.name == name;
      if (list.find(pass.name) == std::string::npos) {
        if (!list.empty()) list += ", ";
        list += pass.name;
      }
    }
    if (!known) return InvalidArgument("no pass is named '" + name + "'; there are: " + list);
  }
  return {};
}

}  // namespace

std::span<const Pass> Passes() { return kPasses; }

Result<std::vector<PassReport>> RunPasses(Graph& graph, const PassOptions& options) {
  MLC_TRY(CheckNames(options.skip, false));
  MLC_TRY(CheckNames(options.print_after, true));
  MLC_TRY(graph.Verify());
  std::vector<PassReport> reports;
  for (const Pass& pass : kPasses) {
    if (options.skip.contains(pass.name)) continue;
    PassReport report{pass.name};
    report.values_before = graph.size();
    const auto start = std::chrono::steady_clock::now();
    Result<bool> changed = pass.run(graph);
    if (!changed.ok()) return changed.status().WithPrefix(pass.name);
    report.milliseconds =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    report.changed = *changed;
    report.values_after = graph.size();
    if (pass.left_alone != nullptr) report.notes = pass.left_alone(graph);
    reports.push_back(report);
    if (options.verify) {
      if (const Status status = graph.Verify(); !status.ok()) {
        return Internal("pass " + std::string(pass.name) + " broke the graph: " + status.message());
      }
    }
    const bool print =
        options.print_after.contains(pass.name) || options.print_after.contains("all");
    if (print && options.print) options.print(pass, graph);
  }
  return reports;
}

}  // namespace mlc::graph
