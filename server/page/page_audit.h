// The audit lines of the live page: who changed what, and who was refused. Of one caller so many
// are written as of its calls (audit_limiter.h), so that no visitor can fill a disk. Thread-safe.
#pragma once

#include <memory>
#include <string>

#include "base/clock.h"
#include "server/security/audit_limiter.h"

namespace spdlog {
class logger;
}

namespace mlc::server::page {

class PageAudit {
 public:
  // Borrows the clock.
  PageAudit(const Clock& clock, std::shared_ptr<spdlog::logger> logger);

  // `what` may have words of the caller: what cannot be printed is replaced.
  void Refused(const std::string& caller, const std::string& what);
  void Changed(const std::string& caller, const std::string& what);

 private:
  bool Allow(const std::string& caller);

  const Clock& clock_;
  const std::shared_ptr<spdlog::logger> logger_;
  AuditLimiter limiter_;
};

}  // namespace mlc::server::page
