#include "server/quotas_file.h"

#include <utility>

#include "transport/file_stamp.h"

namespace mlc::server {

Result<std::unique_ptr<QuotasFile>> QuotasFile::Open(const std::string& path) {
  std::unique_ptr<QuotasFile> file(new QuotasFile(path));
  file->stamp_ = transport::StampOf(path);
  file->quotas_ = MLC_TRY(Quotas::Read(path));
  return file;
}

Quotas QuotasFile::quotas() const {
  std::lock_guard lock(mutex_);
  return quotas_;
}

Status QuotasFile::Refresh(const std::function<void(const Quotas&)>& use) {
  std::lock_guard lock(mutex_);
  std::string stamp = transport::StampOf(path_);
  if (stamp == stamp_) return Status();
  stamp_ = std::move(stamp);
  quotas_ = MLC_TRY(Quotas::Read(path_));
  use(quotas_);
  return Status();
}

}  // namespace mlc::server
