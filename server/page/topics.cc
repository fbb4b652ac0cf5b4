#include "server/page/topics.h"

#include "server/page/views.h"

namespace mlc::server::page {
namespace {

constexpr size_t kLongest = 200;
constexpr std::string_view kWorker = "worker ";

}  // namespace

bool IsJobId(std::string_view text) {
  return text.size() == 32 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::string JobIn(const std::string& path, std::string_view prefix) {
  if (!path.starts_with(prefix)) return "";
  const std::string rest = path.substr(prefix.size());
  return IsJobId(rest) ? rest : "";
}

std::string Printable(const std::string& text) {
  std::string clean = text.substr(0, kLongest);
  for (char& c : clean) c = c < ' ' || c > '~' ? '?' : c;
  return clean;
}

Result<proto::WorkerLine> FindWorker(const PageSource& source, const std::string& name) {
  const proto::ListWorkersReply workers = source.Workers();
  for (const proto::WorkerLine& line : workers.workers()) {
    if (line.worker() == name) return line;
  }
  return NotFound("no worker called " + Printable(name) + " has called");
}

Result<ModelInfo> ModelOf(const PageSource& source, const std::string& job) {
  return InfoOf(MLC_TRY(source.Describe(job)));
}

Result<html::Markup> TopicView(const PageSource& source, const std::string& topic) {
  if (topic == "jobs") return JobsView(MLC_TRY(source.Jobs(kListedJobs)));
  if (topic == "workers") return WorkersView(source.Workers(), source.Live());
  if (topic == "queue") return QueueView(source.Live());
  if (topic.starts_with(kWorker)) {
    const std::string name = topic.substr(kWorker.size());
    const proto::WorkerLine line = MLC_TRY(FindWorker(source, name));
    return WorkerView(line, source.Live().workers[name]);
  }
  if (const std::string job = JobIn(topic, "jobs/"); !job.empty()) {
    const proto::JobDescription description = MLC_TRY(source.Describe(job));
    const ModelInfo model = MLC_TRY(InfoOf(description));
    return JobView(description, model, MLC_TRY(source.Progress(job)));
  }
  return NotFound("there is no " + Printable(topic));
}

std::string TopicText(const PageSource& source, const std::string& topic) {
  const Result<html::Markup> view = TopicView(source, topic);
  return view.ok() ? view->html() : html::Paragraph(view.status().message()).html();
}

}  // namespace mlc::server::page
