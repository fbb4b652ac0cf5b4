#include "server/page/live_page.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/html/style.h"
#include "base/rpc/socket.h"
#include "base/tls/tls_server.h"
#include "compiler/target/target.h"
#include "server/page/assets.h"
#include "server/page/changes.h"
#include "server/page/listener.h"
#include "server/page/page_access.h"
#include "server/page/page_audit.h"
#include "server/page/reports.h"
#include "server/page/topics.h"
#include "server/page/views.h"
#include "server/security/policy.h"
#include "server/state/state_json.h"

namespace mlc::server::page {
namespace {

using html::Element;
using html::Markup;

constexpr int kSearched = 2'000;  // ended jobs that a search goes through
constexpr size_t kLongestSearch = 200;
constexpr char kJson[] = "application/json";

constexpr std::string_view kListJobs = "/mlc.proto.Tuner/ListJobs";
constexpr std::string_view kWatchJob = "/mlc.proto.Tuner/WatchJob";
constexpr std::string_view kBest = "/mlc.proto.Tuner/Best";
constexpr std::string_view kListWorkers = "/mlc.proto.Workers/ListWorkers";

int HttpStatusOf(const Status& status) {
  switch (status.code()) {
    case StatusCode::kInvalidArgument:
      return 400;
    case StatusCode::kUnauthenticated:
      return 401;
    case StatusCode::kPermissionDenied:
      return 403;
    case StatusCode::kNotFound:
      return 404;
    case StatusCode::kFailedPrecondition:
      return 409;
    case StatusCode::kResourceExhausted:
      return 429;
    default:
      return 503;
  }
}

HttpReply Redirect(const std::string& to) {
  HttpReply reply;
  reply.status = 303;
  reply.headers.emplace_back("Location", to);
  return reply;
}

HttpReply Text(const char* type, std::string text) {
  HttpReply reply;
  reply.type = type;
  reply.body = std::move(text);
  return reply;
}

class RunningPage : public LivePage {
 public:
  RunningPage(const PageOptions& options, PageSource& source, const AccessControl& access,
              std::shared_ptr<spdlog::logger> logger, std::shared_ptr<Metrics> metrics)
      : options_(options),
        source_(source),
        metrics_(std::move(metrics)),
        audit_(*options.clock, std::move(logger)),
        access_(access, *options.clock, {options.listen, !options.tls.empty(), options.read_only}),
        reports_(source, *options.clock),
        feed_([this](const std::string& topic) { return TopicText(source_, topic); },
              options.feed) {}
  ~RunningPage() override {
    feed_.Stop();
    if (listener_ != nullptr) listener_->Stop();
  }

  Status Serve(ListenerOptions listen) {
    listener_ = MLC_TRY(HttpListener::Open(std::move(listen)));
    listener_->Start([this](const HttpRequest& request) { return Answer(request); });
    return Status();
  }
  std::string url() const override {
    return (options_.tls.empty() ? "http://" : "https://") + listener_->address() + "/";
  }
  int streams() const override { return feed_.size(); }

 private:
  HttpReply Answer(const HttpRequest& request) {
    if (const Status host = access_.CheckHost(request); !host.ok()) return Fail(request, host, {});
    if (request.path == "/assets/page.css") return Text("text/css", std::string(PageCss()));
    if (request.path == "/assets/report.css") {
      return Text("text/css", std::string(html::PageStyle()));
    }
    if (request.path == "/assets/page.js") return Text("text/javascript", std::string(PageJs()));
    if (request.path == "/login") return Login(request);
    const Result<Visitor> visitor = access_.Identify(request);
    if (!visitor.ok()) return Stranger(request, visitor.status());
    HttpReply reply =
        request.method == "POST" ? Change(request, *visitor) : Show(request, *visitor);
    reply.known = true;
    return reply;
  }

  HttpReply Document(const Frame& frame, const Markup& body) const {
    return Text("text/html; charset=utf-8", DocumentText(frame, body));
  }
  HttpReply Fail(const HttpRequest& request, const Status& status, const Visitor* visitor) const {
    const bool for_people =
        !request.path.starts_with("/api/") && !request.path.starts_with("/events/");
    HttpReply reply = for_people ? Document({"Error", "", visitor}, ErrorView(status))
                                 : Text("text/plain", status.message() + "\n");
    reply.status = HttpStatusOf(status);
    return reply;
  }
  HttpReply Stranger(const HttpRequest& request, const Status& status) const {
    metrics_->AddRejected("unauthenticated");
    HttpReply reply = Fail(request, status, nullptr);
    if (request.method != "GET" || request.path.starts_with("/api/")) return reply;
    if (request.path.starts_with("/events/")) return reply;
    reply.body = DocumentText({"Log in", "", nullptr},
                              LoginView(access_.login_secret(), access_.takes_tokens(), ""));
    return reply;
  }

  HttpReply Login(const HttpRequest& request) {
    std::string error;
    if (request.method == "POST") {
      Status status = access_.CheckForgery(request, access_.login_secret(), false);
      if (status.ok()) {
        const Result<std::string> cookie = access_.Login(request.Field("token"));
        if (cookie.ok()) {
          HttpReply reply = Redirect("/jobs");
          reply.headers.emplace_back("Set-Cookie", *cookie);
          return reply;
        }
        status = cookie.status();
      }
      metrics_->AddRejected("unauthenticated");
      audit_.Refused("an unknown caller", "refused a login: " + status.message());
      error = status.message();
    }
    HttpReply reply = Document({"Log in", "", nullptr},
                               LoginView(access_.login_secret(), access_.takes_tokens(), error));
    if (!error.empty()) reply.status = 401;
    return reply;
  }

  // Pages, documents for programs and streams.
  HttpReply Show(const HttpRequest& request, const Visitor& visitor) {
    const std::string& path = request.path;
    const bool of_workers = path.starts_with("/worker") || path.starts_with("/api/worker") ||
                            path.starts_with("/api/activity") || path.starts_with("/events/worker");
    const std::string_view rpc = of_workers                  ? kListWorkers
                                 : path.starts_with("/best") ? kBest
                                                             : kListJobs;
    if (const Status may = Check(visitor.caller, rpc); !may.ok()) {
      metrics_->AddRejected("denied");
      return Fail(request, may, &visitor);
    }
    Result<HttpReply> reply = path.starts_with("/api/")      ? Programs(path)
                              : path.starts_with("/events/") ? Stream(request, visitor)
                                                             : People(request, visitor);
    return reply.ok() ? *std::move(reply) : Fail(request, reply.status(), &visitor);
  }

  Result<HttpReply> Programs(const std::string& path) {
    if (path == "/api/jobs") {
      return Text(kJson, JobsJson(MLC_TRY(source_.Jobs(kListedJobs))) + "\n");
    }
    if (const std::string job = JobIn(path, "/api/jobs/"); !job.empty()) {
      const ModelInfo model = MLC_TRY(ModelOf(source_, job));
      return Text(kJson, ProgressJson(model, MLC_TRY(source_.Progress(job))) + "\n");
    }
    if (path == "/api/workers") return Text(kJson, WorkersJson(source_.Workers()) + "\n");
    if (path == "/api/activity") return Text(kJson, ActivityJson(source_.Live()) + "\n");
    if (path == "/api/queue") return Text(kJson, QueueJson(source_.Live()) + "\n");
    return NotFound("there is no " + Printable(path));
  }

  Result<HttpReply> People(const HttpRequest& request, const Visitor& visitor) {
    const std::string& path = request.path;
    if (path == "/") return Redirect("/jobs");
    if (path == "/jobs" || path == "/workers" || path == "/queue") {
      const std::string topic = path.substr(1);
      const std::string title = topic == "jobs" ? "Jobs" : topic == "queue" ? "Queue" : "Workers";
      const Markup now = MLC_TRY(TopicView(source_, topic));
      return Document({title, topic, &visitor},
                      Element("h1", title) + LivePart("/events/" + topic, now));
    }
    if (const std::string job = JobIn(path, "/jobs/"); !job.empty()) return Job(job, visitor);
    if (const std::string job = JobIn(path, "/charts/"); !job.empty()) {
      return Text("text/html; charset=utf-8", MLC_TRY(reports_.Of(job)).html());
    }
    if (path == "/worker") return Worker(request.Field("name"), visitor);
    const std::string search = request.Field("q").substr(0, kLongestSearch);
    if (path == "/best") {
      return Document(
          {"Best configs", "best", &visitor},
          Element("h1", "Best configs") + BestView(MLC_TRY(source_.Jobs(kSearched)), search));
    }
    if (const std::string job = JobIn(path, "/best/"); !job.empty()) {
      return Best(job, search, visitor);
    }
    return NotFound("there is no page " + Printable(path));
  }

  Result<HttpReply> Job(const std::string& job, const Visitor& visitor) {
    const proto::JobDescription description = MLC_TRY(source_.Describe(job));
    const std::string name = description.summary().label().empty() ? "Job " + job.substr(0, 12)
                                                                   : description.summary().label();
    Markup body = Element("h1", name) +
                  LivePart("/events/jobs/" + job, MLC_TRY(TopicView(source_, "jobs/" + job)));
    const bool may = visitor.caller.Owns(description.summary().owner()) &&
                     Check(visitor.caller, kCancelJob).ok();
    if (may && description.summary().state() == proto::RUNNING) {
      body += ActionForm(visitor, {"/cancel",
                                   "Cancel this job",
                                   "Its search ends; what was measured stays in the log.",
                                   {{"job", job}}});
    }
    body += Element("p", Element("a", "Best configs of this model", {{"href", "/best/" + job}}));
    const Result<Markup> report = reports_.Of(job);
    const Markup charts =
        report.ok() ? *report : Element("p", "There is no chart yet.", {{"class", "dim"}});
    body += Element("div", charts, {{"id", "charts"}, {"data-source", "/charts/" + job}});
    return Document({name, "jobs", &visitor}, body);
  }

  Result<HttpReply> Worker(const std::string& name, const Visitor& visitor) const {
    const proto::WorkerLine line = MLC_TRY(FindWorker(source_, name));
    Markup body = Element("h1", name) + LivePart("/events/worker?name=" + UrlEncoded(name),
                                                 MLC_TRY(TopicView(source_, "worker " + name)));
    const auto add = [&](std::string_view rpc, const Action& action) {
      if (Check(visitor.caller, rpc).ok()) body += ActionForm(visitor, action);
    };
    add(kDrainWorker, {"/drain",
                       "Drain this worker",
                       "It finishes what it holds and exits.",
                       {{"worker", name}},
                       true});
    add(kQuarantineWorker, {"/quarantine",
                            "Quarantine this worker",
                            "It gets no trials until it is released.",
                            {{"worker", name}},
                            true});
    if (line.state() == proto::QUARANTINED || line.state() == proto::DRAINING) {
      add(kReleaseWorker, {"/release",
                           "Release this worker",
                           "It gets trials again, after a test.",
                           {{"worker", name}}});
    }
    return Document({name, "workers", &visitor}, body);
  }

  Result<HttpReply> Best(const std::string& job, const std::string& search,
                         const Visitor& visitor) {
    const proto::JobDescription description = MLC_TRY(source_.Describe(job));
    const ModelInfo model = MLC_TRY(ModelOf(source_, job));
    proto::BestRequest request;
    const auto target = target::Target::Parse(description.summary().target());
    request.set_target(target.ok() ? target->ClassText() : description.summary().target());
    for (const TaskInfo& task : model.tasks) request.add_workloads(task.workload);
    const proto::BestReply best = MLC_TRY(source_.Best(request));
    const std::string name = "Best configs of " + description.summary().label();
    return Document({name, "best", &visitor},
                    Element("h1", name) + BestOfJobView(description, model, best, search) +
                        Element("p", Element("a", "The job", {{"href", "/jobs/" + job}})));
  }

  Result<HttpReply> Stream(const HttpRequest& request, const Visitor& visitor) {
    std::string topic = request.path.substr(std::string_view("/events/").size());
    if (topic == "worker") topic += " " + request.Field("name");
    MLC_TRY(TopicView(source_, topic));  // there is such a thing
    const std::string who = visitor.caller.local ? "this machine" : visitor.caller.name;
    auto subscription = feed_.Subscribe(topic, who);
    if (!subscription.ok()) {
      metrics_->AddRejected("page_full");
      return subscription.status();
    }
    HttpReply reply;
    reply.type = "text/event-stream";
    // Before each event: a token may have been taken back, a certificate revoked.
    reply.next = [this, request, name = visitor.caller.name,
                  reader = *std::move(subscription)]() -> std::optional<std::string> {
      std::optional<std::string> event = reader->Next();
      const Result<Visitor> still = access_.Identify(request);
      if (!still.ok() || still->caller.name != name) return std::nullopt;
      if (!Check(still->caller, kWatchJob).ok()) return std::nullopt;
      return event;
    };
    return reply;
  }

  HttpReply Change(const HttpRequest& request, const Visitor& visitor) {
    const Status forged = access_.CheckForgery(request, visitor.form_secret, visitor.by_token);
    if (!forged.ok()) {
      metrics_->AddRejected("forged");
      audit_.Refused(visitor.caller.ToText(), forged.message());
      return Fail(request, forged, &visitor);
    }
    if (request.path == "/logout") {
      HttpReply reply = Redirect("/login");
      reply.headers.emplace_back("Set-Cookie", access_.Logout(request));
      return reply;
    }
    const Result<std::string> next = MakeChange(source_, request, visitor.caller);
    if (next.status().code() == StatusCode::kPermissionDenied) metrics_->AddRejected("denied");
    audit_.Changed(visitor.caller.ToText(),
                   SubjectOf(request) + ": " + (next.ok() ? "done" : next.status().message()));
    return next.ok() ? Redirect(*next) : Fail(request, next.status(), &visitor);
  }

  const PageOptions options_;
  PageSource& source_;
  const std::shared_ptr<Metrics> metrics_;
  PageAudit audit_;
  PageAccess access_;
  Reports reports_;
  Feed feed_;
  std::unique_ptr<HttpListener> listener_;
};

Status CheckProtection(const PageOptions& options, spdlog::logger& logger) {
  MLC_TRY(transport::CheckAddress(options.listen).WithPrefix(options.flag));
  if (options.listen.starts_with("unix:")) {
    return InvalidArgument(options.flag + " takes HOST:PORT: browsers connect to no Unix socket");
  }
  if (!options.tls.empty() || transport::IsLocal(options.listen)) return Status();
  if (options.read_only) {
    return InvalidArgument(options.flag + " cannot listen on " + options.listen +
                           ": others can reach it. Give an address of this machine, for example "
                           "127.0.0.1:0");
  }
  if (!options.insecure_listen) {
    return InvalidArgument(options.flag + " cannot listen on " + options.listen +
                           ": others can reach it. Give --tls-cert, --tls-key and --tls-ca, or "
                           "--insecure-listen on a network you trust");
  }
  logger.warn("INSECURE: the page on {} is open to every host that can reach it", options.listen);
  return Status();
}

}  // namespace

Result<std::unique_ptr<LivePage>> LivePage::Start(PageOptions options, PageSource& source,
                                                  const AccessControl& access,
                                                  std::shared_ptr<spdlog::logger> logger,
                                                  std::shared_ptr<Metrics> metrics) {
  MLC_TRY(CheckProtection(options, *logger));
  ListenerOptions listen;
  listen.address = options.listen;
  if (!options.tls.empty()) {
    // The endpoint of the calls reports about the same files.
    listen.tls = MLC_TRY(transport::TlsServer::Open(options.tls, !access.takes_tokens(), nullptr));
  }
  // Callers who are told apart leave room for each other.
  if (!options.tls.empty()) options.feed.most_of_one = std::min(options.feed.most_of_one, 64);
  auto page = std::make_unique<RunningPage>(options, source, access, logger, std::move(metrics));
  MLC_TRY(page->Serve(std::move(listen)));
  logger->info("the page is on {}", page->url());
  return std::unique_ptr<LivePage>(std::move(page));
}

}  // namespace mlc::server::page
