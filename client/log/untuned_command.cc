#include "client/log/untuned_command.h"

#include <ctime>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/format.h"
#include "db/sqlite/sqlite_log.h"
#include "db/untuned/untuned_list.h"

namespace mlc::client {
namespace {

std::string MomentText(int64_t us) {
  const auto seconds = static_cast<time_t>(us / 1'000'000);
  tm utc{};
  char text[32];
  if (gmtime_r(&seconds, &utc) == nullptr) return "-";
  (void)strftime(text, sizeof(text), "%Y-%m-%d %H:%M", &utc);
  return text;
}

}  // namespace

Result<std::string> UntunedCommand(const LogOptions& options) {
  const auto log = MLC_TRY(db::OpenSqliteLogForReading(options.file));
  std::string text = "builds  last (UTC)        task\n";
  nlohmann::ordered_json json;
  json["schema"] = "mlc.log.untuned/1";
  json["untuned"] = nlohmann::ordered_json::array();
  for (const db::UntunedWorkload& entry : MLC_TRY(db::ReadUntuned(options.file))) {
    if (!options.target.empty() && entry.target != options.target) continue;
    const Digest workload = entry.key().first;
    if (!MLC_TRY(log->Best(workload, entry.target, 1)).empty()) continue;
    text += Format("%6lld  %s  ", static_cast<long long>(entry.builds),
                   MomentText(entry.last_us).c_str()) +
            entry.summary + " (" + workload.ToText() + ")\n          on " + entry.target + "\n";
    json["untuned"].push_back({{"workload", workload.ToText()},
                               {"summary", entry.summary},
                               {"target", entry.target},
                               {"builds", entry.builds},
                               {"first_us", entry.first_us},
                               {"last_us", entry.last_us},
                               {"text", entry.text}});
  }
  if (options.json) return json.dump() + "\n";
  if (!json["untuned"].empty()) return text;
  return NotFound("no build noted a task without a record that this log still lacks");
}

}  // namespace mlc::client
