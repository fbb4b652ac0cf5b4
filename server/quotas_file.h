// The file of quotas, followed while a server runs. Thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "server/quotas.h"

namespace mlc::server {

class QuotasFile {
 public:
  // Errors of Quotas::Read.
  static Result<std::unique_ptr<QuotasFile>> Open(const std::string& path);

  Quotas quotas() const;
  // Reads the file again if it has changed; `use` runs with the new quotas. An error leaves the old
  // ones in force, and comes once for each state of the file.
  Status Refresh(const std::function<void(const Quotas&)>& use);

 private:
  explicit QuotasFile(std::string path) : path_(std::move(path)) {}

  const std::string path_;
  mutable std::mutex mutex_;
  Quotas quotas_;
  std::string stamp_;
};

}  // namespace mlc::server
