#include "client/compile/row_times.h"

#include <algorithm>
#include <utility>

#include "base/ceil_div.h"
#include "client/compile/choose_kernels.h"
#include "compiler/backend/backend.h"
#include "compiler/graph/ranged/step_rows.h"
#include "compiler/package/row_limits.h"
#include "compiler/schedule/cuda/user_kernel/user_kernel.h"
#include "compiler/schedule/space/family.h"

namespace mlc::client {

namespace {

// What attention reads of the keys of a larger class, which it counts at each run.
double ShareOfKeys(const graph::Workload& workload, const graph::Workload& larger) {
  const graph::Graph& graph = workload.graph();
  for (graph::ValueId id = 0; id < graph.size(); ++id) {
    const std::vector<graph::ValueId>& operands = graph[id].operands;
    if (graph[id].op != graph::Op::kAttention || operands.size() < 5) continue;
    const auto keys = [&](const graph::Graph& of) {
      return static_cast<double>(of[operands[1]].type.dims[2]);
    };
    return keys(graph) / keys(larger.graph());
  }
  return 1;
}

}  // namespace

std::optional<double> RowTimes::Estimated(const graph::Workload& workload,
                                          const package::Choice& choice) const {
  const schedule::Family* family = schedule::FindFamily(choice.config.family);
  if (family == nullptr || !family->Accepts(workload, target_)) return std::nullopt;
  return backend::BackendOf(target_)
      .estimate(family->Facts(workload, target_, choice.config), target_)
      .total_ns;
}

double RowTimes::Of(const graph::Task& task, const package::Choice& choice) const {
  if (IsTuned(choice)) return choice.expected_ns;
  return Estimated(task.workload, choice).value_or(0);
}

std::optional<double> RowTimes::WithLarger(const graph::Task& task, const package::Choice& choice,
                                           const graph::Task& larger,
                                           const package::Choice& of_larger, int64_t rows) {
  const double own = Of(task, choice);
  double share = rows < 0 ? 1 : ShareOfTime(LoopsOf(larger.workload, of_larger), rows);
  share *= ShareOfKeys(task.workload, larger.workload);
  if (IsTuned(choice) && IsTuned(of_larger)) return std::max(own, of_larger.expected_ns * share);
  const auto of_own = Estimated(task.workload, choice);
  const auto of_shared = Estimated(larger.workload, of_larger);
  if (!of_own || !of_shared || *of_own <= 0) return std::nullopt;
  return std::max(own, own * (*of_shared * share / *of_own));
}

const RowTimes::Loops& RowTimes::LoopsOf(const graph::Workload& workload,
                                         const package::Choice& choice) {
  const auto [entry, is_new] = loops_.try_emplace({workload.digest(), choice.config.ToText()});
  Loops& loops = entry->second;
  if (!is_new || schedule::IsUserKernel(choice.config)) return loops;
  Result<schedule::LoweredKernel> lowered = package::LowerLimited(workload, target_, choice.config);
  if (!lowered.ok()) return loops;  // the build says why
  package::TaskKernel kernel;
  kernel.lowered = *std::move(lowered);
  const std::vector<int64_t> row_elements = package::RowElementsOf(workload, kernel);
  const ir::Kernel& limited = kernel.lowered.kernel;
  loops.phases = ir::StoredRows(limited, row_elements);
  loops.extents = codegen::LayoutOf(limited).phase_extents;
  const graph::TensorType& type = workload.graph()[workload.outputs()[0]].type;
  const int axis = graph::RowAxis(type);
  if (axis >= 0) loops.rows = type.dims[static_cast<size_t>(axis)];
  if (limited.limit < 0) return loops;
  for (const ir::RowLoop& loop : kernel.lowered.row_loops) {
    loops.tile = std::max(loops.tile, loop.rows);
    loops.parts = loop.parts;
    if (loop.most > 0) loops.ends.push_back(loop.most);
    const bool divides = loop.share && !loops.phases.back().bounds();
    if (divides) loops.chunks = loop.share->chunks;
  }
  return loops;
}

int64_t RowTimes::RowsOfTiles(const Loops& loops, int64_t rows) {
  const int64_t needed = rows * loops.parts;
  const int64_t tiles = CeilDiv(needed, loops.tile);
  const int64_t used = std::clamp<int64_t>(tiles, 1, loops.chunks);
  if (used > 1) return CeilDiv(tiles, used) * used * loops.tile;
  const int64_t whole = needed / loops.tile * loops.tile;
  int64_t last = needed > whole ? loops.tile : 0;
  for (const int64_t end : loops.ends) {
    if (end >= needed - whole) last = std::min(last, end);
  }
  return whole + last;
}

// Of the time of all rows; 1 if no loop has a bound. The last phase is what takes the time.
double RowTimes::ShareOfTime(const Loops& loops, int64_t rows) const {
  if (loops.phases.empty()) return 1;
  double share = 1;
  const ir::LoopRows& last = loops.phases.back();
  int64_t iterations = loops.extents.back();
  if (last.bounds()) {
    const auto group = static_cast<int64_t>(last.first.size());
    iterations = iterations / group * last.RunsFor(rows);
    share = static_cast<double>(last.RunsFor(rows)) / static_cast<double>(group);
  }
  if (loops.tile > 0) {
    const int64_t tiles = CeilDiv(rows * loops.parts, loops.tile);
    const int64_t used = std::clamp<int64_t>(tiles, 1, loops.chunks);
    const auto computed = static_cast<double>(RowsOfTiles(loops, rows));
    share = std::min(share, computed / static_cast<double>(loops.rows * loops.parts));
    iterations = iterations / loops.chunks * used;
  }
  // Whole iterations: one thread may have more of them than another.
  const int64_t threads = target_.cpu().threads;
  const int64_t rounds = (iterations + threads - 1) / threads;
  return share * static_cast<double>(rounds * threads) /
         static_cast<double>(std::max<int64_t>(iterations, 1));
}

}  // namespace mlc::client
