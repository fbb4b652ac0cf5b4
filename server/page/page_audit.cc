#include "server/page/page_audit.h"

#include <spdlog/spdlog.h>

#include <utility>

#include "server/page/topics.h"

namespace mlc::server::page {

PageAudit::PageAudit(const Clock& clock, std::shared_ptr<spdlog::logger> logger)
    : clock_(clock), logger_(std::move(logger)) {}

void PageAudit::Refused(const std::string& caller, const std::string& what) {
  if (Allow(caller)) logger_->warn("audit: {}, by {} at the page", Printable(what), caller);
}

void PageAudit::Changed(const std::string& caller, const std::string& what) {
  if (Allow(caller)) logger_->info("audit: {}, by {} at the page", Printable(what), caller);
}

// A line that is due brings the summary with it.
bool PageAudit::Allow(const std::string& caller) {
  const int64_t now_ms = clock_.SteadyMs();
  for (const AuditLimiter::Suppressed& more : limiter_.TakeSummary(now_ms)) {
    logger_->warn("audit: {} more lines about {} at the page", more.lines, more.caller);
  }
  return limiter_.Allow(caller, now_ms);
}

}  // namespace mlc::server::page
