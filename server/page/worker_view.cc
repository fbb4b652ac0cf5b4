// Workers, and who waits for them.
#include <nlohmann/json.hpp>

#include "base/html/number_text.h"
#include "compiler/target/target.h"
#include "server/page/views.h"
#include "server/state/state_json.h"

namespace mlc::server::page {
namespace {

using html::Element;
using html::Markup;
using html::Paragraph;
using Json = nlohmann::ordered_json;

constexpr size_t kShortId = 12;

Markup Count(int64_t value) { return html::Number(static_cast<double>(value)); }

std::string DeviceOf(const std::string& target) {
  const Result<target::Target> parsed = target::Target::Parse(target);
  return parsed.ok() ? parsed->ClassText() : target;
}

// Coarse, so that a worker in contact has the same text at each look.
std::string SilenceText(int64_t silent_ms) {
  const int64_t seconds = silent_ms / 1000;
  if (seconds < 15) return "now";
  if (seconds < 120) return std::to_string(seconds / 15 * 15) + " s ago";
  if (seconds < 7200) return std::to_string(seconds / 60) + " min ago";
  return std::to_string(seconds / 3600) + " h ago";
}

Markup State(proto::WorkerState state) {
  const std::string text = StateText(state);
  return Element("span", text, {{"class", "state " + text}, {"data-state", text}});
}

std::string NameOf(const HeldTrial& trial) {
  if (trial.job.empty()) return "a test";
  return trial.model.empty() ? "job " + trial.job.substr(0, kShortId) : trial.model;
}

Markup JobLink(const std::string& job, const std::string& name) {
  return job.empty() ? Markup(name) : Element("a", name, {{"href", "/jobs/" + job}});
}

// One line: the oldest trial, and how many more.
Markup Doing(const WorkerActivity* activity, int64_t holding) {
  if (activity == nullptr || activity->held.empty()) return holding > 0 ? Count(holding) : "-";
  const HeldTrial& first = activity->held.front();
  Markup doing = JobLink(first.job, NameOf(first));
  if (holding > 1) doing += " and " + std::to_string(holding - 1) + " more";
  return doing;
}

std::string ClockText(const WorkerActivity* activity) {
  if (activity == nullptr || activity->clock_mhz <= 0) return "-";
  return html::NumberText(activity->clock_mhz) + " MHz";
}

std::string UseText(const WorkerActivity* activity) {
  if (activity == nullptr || activity->use < 0) return "-";
  return html::PercentText(activity->use);
}

Markup Fact(const Markup& value, const Markup& name) {
  return Element("div", Element("b", value) + Element("span", name));
}

}  // namespace

Markup WorkersView(const proto::ListWorkersReply& workers, const LiveState& live) {
  if (workers.workers_size() == 0) return Paragraph("No worker has called yet.");
  std::vector<std::vector<Markup>> rows;
  for (const proto::WorkerLine& worker : workers.workers()) {
    const auto found = live.workers.find(worker.worker());
    const WorkerActivity* activity = found == live.workers.end() ? nullptr : &found->second;
    Markup name =
        Element("a", worker.worker(), {{"href", "/worker?name=" + UrlEncoded(worker.worker())}});
    if (!worker.reason().empty()) name += Element("div", worker.reason(), {{"class", "dim"}});
    rows.push_back({name, State(worker.state()), Doing(activity, worker.holding()),
                    ClockText(activity), UseText(activity), Count(worker.results()),
                    Count(worker.failures()), SilenceText(worker.silent_ms()),
                    DeviceOf(worker.target())});
  }
  return html::Table("Workers, by name",
                     {{"worker"},
                      {"state"},
                      {"does now"},
                      {"clock", true},
                      {"device use", true},
                      {"results", true},
                      {"failures", true},
                      {"heard"},
                      {"device"}},
                     rows);
}

Markup WorkerView(const proto::WorkerLine& worker, const WorkerActivity& activity) {
  Markup facts = Fact(State(worker.state()), "state");
  facts += Fact(Count(worker.holding()), "trials that it holds");
  facts += Fact(ClockText(&activity), "clock in its last result");
  facts += Fact(UseText(&activity), "use of its devices by trials");
  facts += Fact(Count(worker.results()), "results");
  facts += Fact(Count(worker.failures()), "failures");
  facts += Fact(Count(worker.refused()), "refused results");
  facts += Fact(SilenceText(worker.silent_ms()), "heard");
  Markup body = Element("div", facts, {{"class", "facts"}});
  if (!worker.reason().empty()) body += Paragraph("Reason: " + worker.reason());
  if (!activity.held.empty()) {
    std::vector<std::vector<Markup>> rows;
    for (const HeldTrial& trial : activity.held) {
      rows.push_back({JobLink(trial.job, NameOf(trial)),
                      trial.job.empty() ? Markup("-") : Count(trial.task + 1),
                      Count(trial.held_ms / 1000)});
    }
    body += html::Table("Trials that it holds, the oldest first",
                        {{"job"}, {"task", true}, {"seconds", true}}, rows);
  }
  return body + Paragraph(Markup("Device: ") + Element("code", worker.target())) +
         Paragraph(Markup("Build: ") + Element("code", worker.build()));
}

Markup QueueView(const LiveState& live) {
  Markup body;
  for (const ClassQueue& queue : live.queues) {
    std::vector<std::vector<Markup>> jobs, users;
    for (const WaitingJob& job : queue.jobs) {
      const std::string name = job.job.empty()     ? "tests of workers"
                               : job.model.empty() ? job.job.substr(0, kShortId)
                                                   : job.model;
      jobs.push_back({JobLink(job.job, name), job.owner.empty() ? "-" : job.owner,
                      Count(job.priority), Count(job.queued), Count(job.leased)});
    }
    for (const FairShares::Share& share : queue.users) {
      users.push_back({share.user, html::NumberText(share.weight),
                       html::DurationText(share.had_s * 1e9), Count(share.waiting)});
    }
    Markup content =
        jobs.empty()
            ? Paragraph("Nothing waits.")
            : html::Table(
                  "Jobs that wait, whose turn it is first",
                  {{"job"}, {"owner"}, {"priority", true}, {"queued", true}, {"leased", true}},
                  jobs);
    if (!users.empty()) {
      content +=
          html::Table("Users: device time over weight decides whose turn it is",
                      {{"user"}, {"weight", true}, {"had", true}, {"waiting jobs", true}}, users);
    }
    body += Element("section", Element("h2", queue.target_class) + content);
  }
  return body.empty() ? Paragraph("Nothing has waited since the server started.") : body;
}

std::string QueueJson(const LiveState& live) {
  Json json = {{"schema", "mlc.queue/1"}, {"classes", Json::array()}};
  for (const ClassQueue& queue : live.queues) {
    Json one = {{"class", queue.target_class}, {"jobs", Json::array()}, {"users", Json::array()}};
    for (const WaitingJob& job : queue.jobs) {
      one["jobs"].push_back({{"job", job.job},
                             {"model", job.model},
                             {"owner", job.owner},
                             {"priority", job.priority},
                             {"queued", job.queued},
                             {"leased", job.leased}});
    }
    for (const FairShares::Share& share : queue.users) {
      one["users"].push_back({{"user", share.user},
                              {"weight", share.weight},
                              {"had_s", share.had_s},
                              {"waiting", share.waiting}});
    }
    json["classes"].push_back(std::move(one));
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string ActivityJson(const LiveState& live) {
  Json json = {{"schema", "mlc.activity/1"}, {"workers", Json::array()}};
  for (const auto& [name, activity] : live.workers) {
    Json one = {{"worker", name}, {"clock_mhz", activity.clock_mhz}, {"use", activity.use}};
    one["holds"] = Json::array();
    for (const HeldTrial& trial : activity.held) {
      one["holds"].push_back({{"job", trial.job},
                              {"model", trial.model},
                              {"task", trial.task},
                              {"held_ms", trial.held_ms}});
    }
    json["workers"].push_back(std::move(one));
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace mlc::server::page
