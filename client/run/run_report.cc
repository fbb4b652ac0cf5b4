#include "client/run/run_report.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/quantile.h"
#include "compiler/graph/tensor_io.h"

namespace mlc::client {

namespace {

OutputCheck CheckOne(const graph::TensorData& actual, const graph::TensorData& expected,
                     double rtol, double atol) {
  const int64_t count = static_cast<int64_t>(expected.bytes.size()) / SizeOf(expected.dtype);
  double largest = 0, difference = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double a = graph::ReadDouble(actual, i), e = graph::ReadDouble(expected, i);
    if (a == e || (std::isnan(a) && std::isnan(e))) {
      if (std::isfinite(e)) largest = std::max(largest, std::abs(e));
      continue;
    }
    const double d = std::abs(a - e);
    difference = std::isfinite(d) ? std::max(difference, d) : INFINITY;
    if (std::isfinite(e)) largest = std::max(largest, std::abs(e));
  }
  OutputCheck check;
  check.max_relative = difference == 0 ? 0 : difference / largest;
  check.passed = difference <= atol + rtol * largest;
  return check;
}

std::string Line(const char* format, double a, double b = 0, double c = 0) {
  char text[128];
  std::snprintf(text, sizeof(text), format, a, b, c);
  return text;
}

}  // namespace

LatencyStatistics Summarize(std::vector<double> milliseconds) {
  std::sort(milliseconds.begin(), milliseconds.end());
  return {Quantile(milliseconds, 0.5), Quantile(milliseconds, 0.1), Quantile(milliseconds, 0.9),
          static_cast<int>(milliseconds.size())};
}

Result<std::vector<OutputCheck>> CheckOutputs(const std::vector<graph::TensorDataRef>& actual,
                                              const std::vector<graph::TensorDataRef>& expected,
                                              const std::vector<std::string>& names, double rtol,
                                              double atol) {
  if (actual.size() != expected.size()) {
    return InvalidArgument("the model has " + std::to_string(actual.size()) +
                           " outputs, the reference " + std::to_string(expected.size()));
  }
  std::vector<OutputCheck> checks;
  for (size_t i = 0; i < actual.size(); ++i) {
    if (actual[i]->dtype != expected[i]->dtype || actual[i]->dims != expected[i]->dims) {
      return InvalidArgument("output " + std::to_string(i) +
                             " and its reference differ in type or shape");
    }
    checks.push_back(CheckOne(*actual[i], *expected[i], rtol, atol));
    checks.back().name = names[i];
  }
  return checks;
}

std::string ToText(const RunReport& report) {
  std::string text;
  for (const auto& [name, size] : report.sizes) {
    text += (text.empty() ? "" : ", ") + name + "=" + std::to_string(size);
  }
  if (!text.empty()) text += ":\n";
  text += "loaded in " + Line("%.1f ms, ", report.load_ms) +
          (report.device < 0 ? std::to_string(report.threads) + " threads, "
                             : "GPU " + std::to_string(report.device) + ", ") +
          Line("%.1f MB of working memory\n", report.session_bytes / 1e6);
  for (const OutputCheck& check : report.checks) {
    text += "output " + check.name + ": largest relative difference " +
            Line("%.2e", check.max_relative) + (check.passed ? ", passed\n" : ", FAILED\n");
  }
  if (report.latency) {
    const LatencyStatistics& l = *report.latency;
    text += "latency " + Line("%.3f ms (p10 %.3f, p90 %.3f), ", l.median, l.p10, l.p90) +
            std::to_string(l.runs) +
            (report.device < 0 ? " runs\n"
                               : " graph launches in a row, by GPU events, data on the GPU\n");
  }
  for (const BesideRow& row : report.beside) {
    text += "beside " + row.library + ": " +
            (row.error.empty()
                 ? Line("%.3f ms, %.4f times as long, ", row.latency.median, row.quotient) +
                       std::to_string(row.rounds) + " rounds\n"
                 : row.error + "\n");
  }
  double total = 0;
  for (const ProfileRow& row : report.profile) total += row.median_us;
  for (const ProfileRow& row : report.profile) {
    text += Line("%10.1f us %5.1f %%  ", row.median_us, 100 * row.median_us / total) +
            std::to_string(row.calls) + "x " + row.label + "\n";
  }
  return text;
}

namespace {

nlohmann::ordered_json JsonOf(const LatencyStatistics& l) {
  return {{"median", l.median}, {"p10", l.p10}, {"p90", l.p90}, {"runs", l.runs}};
}

nlohmann::ordered_json JsonOf(const BesideRow& row) {
  nlohmann::ordered_json json = {{"library", row.library}};
  if (row.error.empty()) {
    json["latency_ms"] = JsonOf(row.latency);
    json["quotient"] = row.quotient;
    json["rounds"] = row.rounds;
  } else {
    json["error"] = row.error;
  }
  return json;
}

nlohmann::ordered_json JsonOf(const RunReport& report) {
  nlohmann::ordered_json json;
  json["schema"] = "mlc.run/1";
  if (!report.sizes.empty()) json["sizes"] = report.sizes;
  json["threads"] = report.threads;
  if (report.device >= 0) json["device"] = report.device;
  json["load_ms"] = report.load_ms;
  json["session_bytes"] = report.session_bytes;
  if (report.latency) json["latency_ms"] = JsonOf(*report.latency);
  for (const BesideRow& row : report.beside) json["beside"].push_back(JsonOf(row));
  if (!report.checks.empty()) {
    bool passed = true;
    nlohmann::ordered_json outputs = nlohmann::ordered_json::array();
    for (const OutputCheck& check : report.checks) {
      passed = passed && check.passed;
      // JSON has no infinity: the largest double stands for it.
      outputs.push_back({{"name", check.name},
                         {"max_relative_difference",
                          std::min(check.max_relative, std::numeric_limits<double>::max())},
                         {"passed", check.passed}});
    }
    json["check"] = {{"passed", passed}, {"outputs", outputs}};
  }
  if (!report.profile.empty()) {
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (const ProfileRow& row : report.profile) {
      rows.push_back({{"label", row.label}, {"median_us", row.median_us}, {"calls", row.calls}});
    }
    json["profile"] = rows;
  }
  return json;
}

std::string Dumped(const nlohmann::ordered_json& json) {
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string ToJson(const RunReport& report) { return Dumped(JsonOf(report)); }

std::string ToText(const std::vector<RunReport>& reports) {
  std::string text;
  for (const RunReport& report : reports) text += ToText(report);
  return text;
}

std::string ToJson(const std::vector<RunReport>& reports) {
  if (reports.size() == 1) return ToJson(reports.front());
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const RunReport& report : reports) json.push_back(JsonOf(report));
  return Dumped(json);
}

}  // namespace mlc::client
