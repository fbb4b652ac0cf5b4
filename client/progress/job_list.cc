#include "client/progress/job_list.h"

#include <vector>

#include "client/progress/table_text.h"
#include "server/state/state_json.h"

namespace mlc::client {
namespace {

constexpr size_t kShortId = 12;
constexpr size_t kLeastId = 4;
constexpr size_t kWholeId = 32;

std::vector<std::string> RowOf(const proto::JobSummary& job, int64_t now_us) {
  std::string label = job.label();
  if (!job.detail().empty()) label += "  (" + job.detail() + ")";
  return {job.job().substr(0, kShortId),
          server::StateText(job.state()),
          job.owner().empty() ? "-" : job.owner(),
          std::to_string(job.priority()),
          std::to_string(job.trials()) + "/" + std::to_string(job.trials_wanted()),
          AgeText(now_us - job.created_us()),
          label};
}

}  // namespace

std::string JobsTable(const proto::ListJobsReply& jobs, int64_t now_us) {
  std::vector<std::vector<std::string>> rows = {
      {"JOB", "STATE", "OWNER", "PRIORITY", "TRIALS", "AGE", "MODEL"}};
  for (int i = jobs.jobs_size(); i-- > 0;) rows.push_back(RowOf(jobs.jobs(i), now_us));
  return TableText(rows);
}

Result<std::string> FindJob(const proto::ListJobsReply& jobs, const std::string& text) {
  const bool hexadecimal = text.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (!hexadecimal || text.size() < kLeastId || text.size() > kWholeId) {
    return InvalidArgument("'" + text +
                           "' is not a job id: give an id, or its first digits, at least " +
                           std::to_string(kLeastId) + " (mlc-tune jobs lists them)");
  }
  std::string found;
  for (const proto::JobSummary& job : jobs.jobs()) {
    if (!job.job().starts_with(text)) continue;
    if (!found.empty()) return InvalidArgument("several jobs begin with " + text);
    found = job.job();
  }
  // An old job may be missing in the list; the server knows it by its whole id.
  if (found.empty() && text.size() == kWholeId) return text;
  if (found.empty()) return NotFound("there is no job " + text + " on this server");
  return found;
}

}  // namespace mlc::client
