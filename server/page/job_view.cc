// Jobs, one job, and what is best.
#include <algorithm>
#include <set>
#include <sstream>
#include <utility>

#include "base/html/number_text.h"
#include "base/outcome.h"
#include "compiler/target/target.h"
#include "server/page/views.h"
#include "server/state/state_json.h"

namespace mlc::server::page {
namespace {

using html::Element;
using html::Markup;
using html::Paragraph;

constexpr size_t kShortId = 12;

Markup Count(int64_t value) { return html::Number(static_cast<double>(value)); }
Markup TimeOrNone(double ns) { return ns > 0 ? html::Time(ns) : Markup("-"); }

std::string ModelOf(const proto::JobSummary& job) {
  return job.label().empty() ? "job " + job.job().substr(0, kShortId) : job.label();
}

std::string DeviceOf(const std::string& target) {
  const Result<target::Target> parsed = target::Target::Parse(target);
  return parsed.ok() ? parsed->ClassText() : target;
}

Markup State(proto::JobState state) {
  const std::string text = StateText(state);
  return Element("span", text, {{"class", "state " + text}, {"data-state", text}});
}

Markup Progress(int64_t done, int64_t wanted) {
  const std::string most = std::to_string(std::max<int64_t>(wanted, 1));
  const std::string value =
      std::to_string(std::clamp<int64_t>(done, 0, std::max<int64_t>(wanted, 1)));
  return Element("progress", "", {{"max", most}, {"value", value}, {"aria-label", "trials done"}}) +
         Element("span", " " + std::to_string(done) + " of " + std::to_string(wanted));
}

Markup Fact(const Markup& value, const Markup& name) {
  return Element("div", Element("b", value) + Element("span", name));
}

bool Holds(std::string text, const std::string& search) {
  const auto lower = [](std::string& word) {
    for (char& c : word) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  };
  lower(text);
  std::istringstream words(search);
  for (std::string word; words >> word;) {
    lower(word);
    if (text.find(word) == std::string::npos) return false;
  }
  return true;
}

Markup SearchForm(const std::string& path, const std::string& search) {
  const Markup field =
      Markup::Trusted("<input type=\"search\" name=\"q\" maxlength=\"200\" value=\"" +
                      Markup(search).html() + "\" />");
  return Element("form",
                 Element("label", Markup("Search ") + field) +
                     Element("button", "Search", {{"type", "submit"}}),
                 {{"method", "get"}, {"action", path}, {"role", "search"}});
}

Markup Outcomes(const proto::JobProgress& progress) {
  std::vector<std::vector<Markup>> rows;
  for (int i = 0; i < progress.outcomes_size(); ++i) {
    if (progress.outcomes(i) == 0) continue;
    rows.push_back({std::string(ToText(static_cast<Outcome>(i))), Count(progress.outcomes(i))});
  }
  if (rows.empty()) return {};
  return html::Table("How trials ended", {{"outcome"}, {"trials", true}}, rows);
}

Markup Tasks(const ModelInfo& model, const JobFigures& figures,
             const proto::JobProgress& progress) {
  std::vector<std::vector<Markup>> rows;
  for (size_t i = 0; i < figures.tasks.size(); ++i) {
    const TaskLine& line = figures.tasks[i];
    const bool known = static_cast<int>(i) < progress.tasks_size();
    rows.push_back({model.tasks[i].summary, Count(line.uses), Count(line.trials),
                    TimeOrNone(line.best_ns), TimeOrNone(line.default_ns),
                    html::PercentText(line.share),
                    known && progress.tasks(static_cast<int>(i)).done() ? "yes" : ""});
  }
  return html::Table("Tasks",
                     {{"task"},
                      {"executions", true},
                      {"trials", true},
                      {"best", true},
                      {"default", true},
                      {"share", true},
                      {"done"}},
                     rows);
}

}  // namespace

Markup JobsView(const proto::ListJobsReply& jobs) {
  if (jobs.jobs_size() == 0) return Paragraph("There is no job yet.");
  std::vector<std::vector<Markup>> rows;
  for (const proto::JobSummary& job : jobs.jobs()) {
    Markup name = Element("a", ModelOf(job), {{"href", "/jobs/" + job.job()}});
    if (!job.detail().empty()) name += Element("div", job.detail(), {{"class", "dim"}});
    rows.push_back({name, State(job.state()), Progress(job.trials(), job.trials_wanted()),
                    job.owner().empty() ? "-" : job.owner(), Count(job.priority()),
                    html::ClockText(job.created_us()), DeviceOf(job.target())});
  }
  return html::Table(
      "Jobs, the newest first",
      {{"model"}, {"state"}, {"trials"}, {"owner"}, {"priority", true}, {"submitted"}, {"device"}},
      rows);
}

Markup JobView(const proto::JobDescription& job, const ModelInfo& model,
               const proto::JobProgress& progress) {
  const JobFigures figures = FiguresOf(model, progress);
  Markup facts = Fact(State(progress.state()), "state");
  facts += Fact(Progress(progress.trials(), progress.trials_wanted()), "trials");
  facts += Fact(TimeOrNone(figures.model().model_ns), "time of the model's kernels");
  facts += Fact(TimeOrNone(figures.default_model_ns), "with the default configs");
  facts += Fact(Count(progress.workers()), "workers of its class");
  facts += Fact(html::DurationText(progress.elapsed_s() * 1e9), "running");
  if (figures.trials_per_s > 0) {
    facts += Fact(html::NumberText(figures.trials_per_s), "trials a second");
  }
  if (progress.state() == proto::RUNNING && progress.budget_left_s() > 0) {
    facts += Fact(html::DurationText(progress.budget_left_s() * 1e9), "left of its time budget");
  }
  Markup body = Element("div", facts, {{"class", "facts"}});
  if (!progress.detail().empty()) {
    body += Element("p", progress.detail(), {{"class", "dim"}});
  }
  body += Tasks(model, figures, progress) + Outcomes(progress);
  const std::string owner = job.summary().owner();
  return body + Element("p",
                        "Submitted " + html::ClockText(job.summary().created_us()) +
                            (owner.empty() ? "" : " by " + owner) + ", for " +
                            DeviceOf(job.summary().target()),
                        {{"class", "dim"}});
}

Markup BestView(const proto::ListJobsReply& jobs, const std::string& search) {
  std::set<std::pair<std::string, std::string>> seen;
  std::vector<std::vector<Markup>> rows;
  for (const proto::JobSummary& job : jobs.jobs()) {
    const std::string device = DeviceOf(job.target());
    if (!Holds(ModelOf(job) + " " + device, search)) continue;
    if (!seen.emplace(ModelOf(job), device).second) continue;
    rows.push_back(
        {Element("a", ModelOf(job), {{"href", "/best/" + job.job()}}), device,
         Element("a", "job",
                 {{"href", "/jobs/" + job.job()}, {"aria-label", "job of " + ModelOf(job)}}),
         html::ClockText(job.changed_us())});
  }
  const Markup form = SearchForm("/best", search);
  if (rows.empty()) return form + Paragraph("No model and device match.");
  return form + html::Table("Models and devices",
                            {{"model"}, {"device"}, {"newest job"}, {"last change"}}, rows);
}

Markup BestOfJobView(const proto::JobDescription& job, const ModelInfo& model,
                     const proto::BestReply& best, const std::string& search) {
  std::vector<std::vector<Markup>> rows;
  for (size_t i = 0; i < model.tasks.size(); ++i) {
    const proto::BestConfig none;
    const bool known = static_cast<int>(i) < best.best_size();
    const proto::BestConfig& config = known ? best.best(static_cast<int>(i)) : none;
    if (!Holds(model.tasks[i].summary + " " + config.config(), search)) continue;
    rows.push_back(
        {model.tasks[i].summary, TimeOrNone(config.measurement().median_ns()),
         config.config().empty() ? Markup("no record") : Element("code", config.config()),
         Element("code", model.tasks[i].workload.substr(0, kShortId))});
  }
  const Markup form = SearchForm("/best/" + job.summary().job(), search);
  if (rows.empty()) return form + Paragraph("No task matches.");
  return form + html::Table("Best config of each task on " + DeviceOf(job.summary().target()),
                            {{"task"}, {"time", true}, {"config"}, {"workload"}}, rows);
}

}  // namespace mlc::server::page
