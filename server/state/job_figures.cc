#include "server/state/job_figures.h"

#include <algorithm>

#include "base/outcome.h"
#include "compiler/target/target.h"
#include "costmodel/plainly_faster.h"
#include "costmodel/roofline.h"
#include "server/state/executed_work.h"

namespace mlc::server {
namespace {

void SetRoofline(const TaskInfo& task, const target::Target& target, const std::string& config,
                 TaskLine& line) {
  line.roofline_ns = costmodel::RooflineNs({task.flops, task.min_bytes, task.narrow}, target);
  line.executed_roofline_ns = line.roofline_ns;
  if (task.definition == nullptr || config.empty()) return;
  line.executed_share = ExecutedShare(*task.definition, target, config);
  line.executed_roofline_ns = costmodel::RooflineNs(
      {task.flops * line.executed_share, task.min_bytes, task.narrow}, target);
}

std::vector<TaskLine> LinesOf(const ModelInfo& model, const proto::JobProgress& progress) {
  const Result<target::Target> parsed = target::Target::Parse(progress.target());
  const target::Target target = parsed.ok() ? *parsed : target::Target();
  std::vector<TaskLine> lines;
  for (size_t i = 0; i < model.tasks.size(); ++i) {
    TaskLine& line = lines.emplace_back();
    const bool has_progress = static_cast<int>(i) < progress.tasks_size();
    const proto::TaskProgress& task = has_progress ? progress.tasks(static_cast<int>(i))
                                                   : proto::TaskProgress::default_instance();
    SetRoofline(model.tasks[i], target, task.best_config(), line);
    line.best_ns = task.best_ns();
    line.default_ns = task.default_ns();
    line.estimate_ns = task.estimate_ns();
    line.trials = task.trials();
    line.under_way = task.under_way();
  }
  return lines;
}

VariantFigures VariantOf(const ModelInfo& model, size_t variant,
                         const std::vector<TaskLine>& lines) {
  VariantFigures figures;
  bool all_known = true;
  double measured_ns = 0;
  for (size_t i = 0; i < lines.size(); ++i) {
    const TaskLine& line = lines[i];
    const int uses = model.tasks[i].uses[variant];
    if (uses == 0) continue;
    ++figures.tasks;
    figures.missing += line.best_ns > 0 ? 0 : 1;
    figures.untried += line.best_ns > 0 || line.trials > 0 ? 0 : 1;
    all_known = all_known && line.KnownNs() > 0;
    figures.model_ns += uses * line.KnownNs();
    measured_ns += uses * line.best_ns;
  }
  if (!all_known) figures.model_ns = 0;
  if (figures.model_ns > 0) figures.measured_share = measured_ns / figures.model_ns;
  return figures;
}

// As a build chooses: the usual one, unless another one is measured whole and is plainly faster.
size_t FastestOf(const std::vector<VariantFigures>& variants) {
  size_t fastest = 0;
  for (size_t v = 1; v < variants.size(); ++v) {
    const VariantFigures& best = variants[fastest];
    if (variants[v].missing > 0) continue;
    if (best.missing > 0 || costmodel::PlainlyFaster(variants[v].model_ns, best.model_ns))
      fastest = v;
  }
  return fastest;
}

void AddDefaults(const ModelInfo& model, JobFigures& figures) {
  double sum = 0;
  for (size_t i = 0; i < figures.tasks.size(); ++i) {
    const int uses = model.tasks[i].uses[0];
    const double default_ns = figures.tasks[i].default_ns;
    figures.defaults_missing += uses > 0 && default_ns <= 0 ? 1 : 0;
    sum += uses * default_ns;
  }
  figures.default_model_ns = figures.defaults_missing == 0 ? sum : 0;
}

// How often the variant uses each task, and its share of the time.
void SetShares(const ModelInfo& model, size_t variant, std::vector<TaskLine>& lines) {
  double sum = 0;
  for (size_t i = 0; i < lines.size(); ++i) {
    lines[i].uses = model.tasks[i].uses[variant];
    sum += lines[i].uses * lines[i].KnownNs();
  }
  for (TaskLine& line : lines) {
    if (sum > 0) line.share = line.uses * line.KnownNs() / sum;
  }
}

}  // namespace

TaskInfo InfoOf(const graph::Workload& workload, const std::string& label, std::vector<int> uses) {
  const costmodel::RooflineInput roofline = costmodel::RooflineInputOf(workload);
  return {workload.digest().ToText(),
          workload.Summary(),
          label,
          std::move(uses),
          roofline.flops,
          roofline.min_bytes,
          roofline.narrow,
          std::make_shared<const graph::Workload>(workload)};
}

Result<ModelInfo> InfoOf(const proto::JobDescription& description) {
  ModelInfo info;
  if (description.variants_size() > 0) info.variants.clear();
  for (const proto::Variant& variant : description.variants()) {
    info.variants.push_back(variant.name());
  }
  for (const proto::Task& task : description.tasks()) {
    const Result<graph::Workload> workload = graph::Workload::Parse(task.workload());
    if (!workload.ok()) return DataLoss("a task of the job: " + workload.status().message());
    std::vector<int> uses(task.uses().begin(), task.uses().end());
    if (description.variants_size() == 0) uses = {task.occurrences()};
    if (uses.size() != info.variants.size()) return DataLoss("the job's variants cannot be read");
    info.tasks.push_back(InfoOf(*workload, task.label(), std::move(uses)));
  }
  return info;
}

JobFigures FiguresOf(const ModelInfo& model, const proto::JobProgress& progress) {
  JobFigures figures;
  figures.tasks = LinesOf(model, progress);
  for (size_t v = 0; v < model.variants.size(); ++v) {
    figures.variants.push_back(VariantOf(model, v, figures.tasks));
  }
  figures.fastest = FastestOf(figures.variants);
  AddDefaults(model, figures);
  SetShares(model, figures.fastest, figures.tasks);
  figures.measured = std::max<int64_t>(0, progress.trials() - progress.replayed());
  if (progress.elapsed_s() > 0) {
    figures.trials_per_s = static_cast<double>(figures.measured) / progress.elapsed_s();
  }
  for (int i = 1; i < progress.outcomes_size(); ++i) {
    if (i != static_cast<int>(Outcome::kTooSlow)) figures.failures += progress.outcomes(i);
  }
  return figures;
}

}  // namespace mlc::server
