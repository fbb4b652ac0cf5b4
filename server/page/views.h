// The pages as markup. A view is made of what it shows and nothing else; the live part of a page is
// the same text for every visitor, so forms, which are each visitor's own, stand outside of it.
// Pure; thread-safe.
#pragma once

#include <string>
#include <vector>

#include "base/html/markup.h"
#include "proto/tuner.pb.h"
#include "proto/worker.pb.h"
#include "server/page/page_access.h"
#include "server/state/job_figures.h"
#include "server/tuner/live_state.h"

namespace mlc::server::page {

struct Frame {
  std::string title;
  std::string place;                 // of the navigation: "jobs", "workers", "queue", "best"
  const Visitor* visitor = nullptr;  // null: a stranger
};
// The whole document.
std::string DocumentText(const Frame& frame, const html::Markup& body);
// A part that is kept up to date from the stream at `feed`.
html::Markup LivePart(const std::string& feed, const html::Markup& now);
// One button that changes something, with a note that the change carries if `asks_reason`.
struct Action {
  std::string path;
  std::string label;
  std::string explanation;
  std::vector<std::pair<std::string, std::string>> fields;
  bool asks_reason = false;
};
html::Markup ActionForm(const Visitor& visitor, const Action& action);

html::Markup JobsView(const proto::ListJobsReply& jobs);
html::Markup JobView(const proto::JobDescription& job, const ModelInfo& model,
                     const proto::JobProgress& progress);
html::Markup WorkersView(const proto::ListWorkersReply& workers, const LiveState& live);
html::Markup WorkerView(const proto::WorkerLine& worker, const WorkerActivity& activity);
html::Markup QueueView(const LiveState& live);
// Of jobs whose model or device holds all words of `search`; the newest of each model and device.
html::Markup BestView(const proto::ListJobsReply& jobs, const std::string& search);
// Of tasks that hold all words of `search`.
html::Markup BestOfJobView(const proto::JobDescription& job, const ModelInfo& model,
                           const proto::BestReply& best, const std::string& search);
html::Markup LoginView(const std::string& secret, bool takes_tokens, const std::string& error);
html::Markup ErrorView(const Status& status);

// A word of a URL's query.
std::string UrlEncoded(const std::string& text);
// The queue as "mlc.queue/1".
std::string QueueJson(const LiveState& live);
// Activities of workers as "mlc.activity/1".
std::string ActivityJson(const LiveState& live);

}  // namespace mlc::server::page
