// What a live part of a page shows, by its topic: "jobs", "jobs/ID", "workers", "worker NAME",
// "queue". Thread-safe, as the source is.
#pragma once

#include <string>
#include <string_view>

#include "base/html/markup.h"
#include "base/status.h"
#include "proto/worker.pb.h"
#include "server/page/source.h"
#include "server/state/job_figures.h"

namespace mlc::server::page {

inline constexpr int kListedJobs = 100;  // ended ones

// NOT_FOUND for a topic that there is not; else the source's errors.
Result<html::Markup> TopicView(const PageSource& source, const std::string& topic);
// The same for those who look already: an error is a text for them.
std::string TopicText(const PageSource& source, const std::string& topic);

Result<proto::WorkerLine> FindWorker(const PageSource& source, const std::string& name);
Result<ModelInfo> ModelOf(const PageSource& source, const std::string& job);
// What follows `prefix` in the path, if that is the id of a job; else empty.
std::string JobIn(const std::string& path, std::string_view prefix);
bool IsJobId(std::string_view text);
// For messages: what a caller wrote, short and without control characters.
std::string Printable(const std::string& text);

}  // namespace mlc::server::page
