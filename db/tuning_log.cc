#include "db/tuning_log.h"

#include <future>
#include <memory>
#include <utility>

namespace mlc::db {

Result<Appended> AppendAndWait(TuningLog& log, Record record) {
  // Shared with the callback, which may still hold it when the wait ends.
  auto committed = std::make_shared<std::promise<Result<Appended>>>();
  std::future<Result<Appended>> result = committed->get_future();
  log.Append(std::move(record),
             [committed](const Result<Appended>& appended) { committed->set_value(appended); });
  (void)log.Flush();
  return result.get();
}

}  // namespace mlc::db
