#include "server/jobs/quotas_file.h"

#include <utility>

namespace mlc::server {

Result<std::unique_ptr<QuotasFile>> QuotasFile::Open(const std::string& path) {
  std::unique_ptr<QuotasFile> file(new QuotasFile(path));
  MLC_TRY(file->Refresh(transport::Look::kNow, [](const Quotas&) {}));
  return file;
}

Quotas QuotasFile::quotas() const {
  const MutexLock lock(mutex_);
  return quotas_;
}

Status QuotasFile::Refresh(transport::Look look, const std::function<void(const Quotas&)>& use) {
  const MutexLock lock(mutex_);
  return file_.Refresh(look, [&](const std::string& text) MLC_REQUIRES(mutex_) -> Status {
    Result<Quotas> quotas = Quotas::Parse(text);
    if (!quotas.ok()) return quotas.status().WithPrefix(file_.path());
    quotas_ = *std::move(quotas);
    use(quotas_);
    return Status();
  });
}

}  // namespace mlc::server
