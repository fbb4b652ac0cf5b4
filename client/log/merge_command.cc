#include "client/log/merge_command.h"

#include <nlohmann/json.hpp>

#include "base/format.h"

namespace mlc::client {
namespace {

std::string AgreementText(const db::Agreement& agreement) {
  if (agreement.common == 0) return "nothing in common";
  return std::to_string(agreement.common) + " configs in common, times " +
         Format("%.2f", agreement.ratio) + " of ours in the middle, " +
         Format("%.0f", 100 * agreement.near) + " % near that";
}

std::string ToText(const std::string& from, const db::MergeCounts& counts) {
  std::string text = from + ": " + std::to_string(counts.added) + " records added of " +
                     std::to_string(counts.read) + "\n";
  for (const db::MergedTarget& merged : counts.targets) {
    text += std::string(merged.taken ? "  taken: " : "  not taken: ") + merged.target + "\n    " +
            AgreementText(merged.agreement) + "\n";
  }
  return text;
}

nlohmann::ordered_json ToJson(const std::string& from, const db::MergeCounts& counts) {
  nlohmann::ordered_json json = {{"from", from}, {"read", counts.read}, {"added", counts.added}};
  json["targets"] = nlohmann::ordered_json::array();
  for (const db::MergedTarget& merged : counts.targets) {
    json["targets"].push_back({{"target", merged.target},
                               {"taken", merged.taken},
                               {"common", merged.agreement.common},
                               {"ratio", merged.agreement.ratio},
                               {"near", merged.agreement.near}});
  }
  return json;
}

}  // namespace

Result<std::string> MergeCommand(const LogOptions& options, const std::vector<std::string>& from,
                                 db::Trust trust) {
  std::string text;
  nlohmann::ordered_json json;
  json["schema"] = "mlc.log.merge/1";
  json["merged"] = nlohmann::ordered_json::array();
  for (const std::string& other : from) {
    const Result<db::MergeCounts> counts = db::Merge(options.file, other, trust);
    if (!counts.ok()) return counts.status().WithPrefix(other);
    text += ToText(other, *counts);
    json["merged"].push_back(ToJson(other, *counts));
  }
  return options.json ? json.dump() + "\n" : text;
}

}  // namespace mlc::client
