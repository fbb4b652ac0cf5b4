#include "client/compile/compile_report.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <numeric>
#include <variant>

#include "client/compile/choose_kernels.h"
#include "compiler/package/origin.h"
#include "compiler/schedule/cuda/user_kernel/user_kernel.h"

namespace mlc::client {

namespace {

double TimeOf(const CompileReport& report, size_t task) {
  return report.choices[task].expected_ns * report.program.tasks[task].occurrences;
}

double TotalNs(const CompileReport& report) {
  double total = 0;
  for (size_t i = 0; i < report.choices.size(); ++i) total += TimeOf(report, i);
  return total;
}

std::string OriginText(const package::Choice& choice) {
  if (const auto* measured = std::get_if<package::FromRecord>(&choice.origin)) {
    return "(record " + measured->record.substr(0, 8) + ")";
  }
  const auto* similar = std::get_if<package::FromSimilar>(&choice.origin);
  if (similar == nullptr) return "(untuned: default config)";
  return "(untuned: transferred, record " + similar->record.substr(0, 8) +
         (choice.note.empty() ? ")" : " of " + choice.note + ")");
}

// What the untuned tasks were given.
std::string UntunedText(const std::vector<package::Choice>& choices) {
  const auto defaults = std::count_if(choices.begin(), choices.end(), [](const auto& choice) {
    return std::holds_alternative<package::FromDefault>(choice.origin);
  });
  const auto transferred = std::count_if(choices.begin(), choices.end(), IsTransferred);
  if (defaults + transferred == 0) return "";
  std::string text = std::to_string(defaults + transferred) + " of " +
                     std::to_string(choices.size()) + " tasks are untuned and use a default config";
  if (transferred > 0) {
    text += " or one transferred from a similar task in the log (" + std::to_string(transferred) +
            " of them; their times are estimates)";
  }
  return text + ": run mlc-tune first for the full speed\n";
}

// What the library runs at one combination of sizes.
double NsOfPlan(const CompileReport& report, const package::Plan& plan) {
  double total = 0;
  for (int s = plan.first_step; s < plan.first_step + plan.step_count; ++s) {
    const auto task = static_cast<size_t>(report.program.steps[static_cast<size_t>(s)].task);
    total += report.choices[task].expected_ns;
  }
  return total;
}

// "batch=8: 34 kernel calls, expected 0.120 ms, arena 1.20 MB", a line for each plan.
std::string SizesText(const CompileReport& report) {
  std::string text;
  for (const package::Plan& plan : report.sizes->plans) {
    std::string name = report.sizes->ranges ? "up to " : "";
    for (size_t d = 0; d < plan.sizes.size(); ++d) {
      name += (d == 0 ? "" : ", ") + report.sizes->dims[d] + "=" + std::to_string(plan.sizes[d]);
    }
    char line[128];
    std::snprintf(line, sizeof(line), ": %d kernel calls, expected %.3f ms, arena %.2f MB\n",
                  plan.step_count, NsOfPlan(report, plan) / 1e6, plan.arena_bytes / 1e6);
    text += name + line;
  }
  return text + "all " + std::to_string(report.sizes->plans.size()) +
         (report.sizes->ranges ? " size classes: " : " sizes: ");
}

nlohmann::ordered_json PlanJson(const CompileReport& report, const package::Plan& plan) {
  nlohmann::ordered_json sizes;
  for (size_t d = 0; d < plan.sizes.size(); ++d) sizes[report.sizes->dims[d]] = plan.sizes[d];
  std::vector<int> uses(report.program.tasks.size());
  for (int s = plan.first_step; s < plan.first_step + plan.step_count; ++s) {
    ++uses[static_cast<size_t>(report.program.steps[static_cast<size_t>(s)].task)];
  }
  return {{"sizes", sizes},
          {"kernel_calls", plan.step_count},
          {"expected_ms", NsOfPlan(report, plan) / 1e6},
          {"arena_bytes", plan.arena_bytes},
          {"task_uses", uses}};
}

// The least and the most size of each dimension that takes any size between them.
nlohmann::ordered_json RangesJson(const package::Plans& plans) {
  nlohmann::ordered_json ranges = nlohmann::ordered_json::object();
  for (size_t d = 0; plans.ranges && d < plans.dims.size(); ++d) {
    if (!plans.ranges->any_size[d]) continue;
    ranges[plans.dims[d]] = {plans.ranges->least[d], plans.ranges->most[d]};
  }
  return ranges;
}

std::string Row(const CompileReport& report, size_t i, double total) {
  const graph::Task& task = report.program.tasks[i];
  const package::Choice& choice = report.choices[i];
  char numbers[96];
  if (choice.expected_ns > 0) {
    std::snprintf(numbers, sizeof(numbers), "%3d x %c%8.1f us %5.1f %%  ", task.occurrences,
                  IsTuned(choice) ? ' ' : '~', choice.expected_ns / 1e3,
                  100 * TimeOf(report, i) / total);
  } else {
    std::snprintf(numbers, sizeof(numbers), "%3d x         - us     - %%  ", task.occurrences);
  }
  return numbers + task.workload.Summary() + "\n" + std::string(31, ' ') +
         schedule::BriefConfig(choice.config.ToText()) + "  " + OriginText(choice) + "\n";
}

// For which GPUs the library is.
std::string DevicesText(const CompileReport& report, const target::GpuTarget& gpu) {
  const std::string text = "for GPUs of " + gpu.CudaArch();
  if (!report.library.portable) return text + " alone\n";
  const auto others =
      std::count_if(report.choices.begin(), report.choices.end(),
                    [](const auto& choice) { return choice.substitute.has_value(); });
  if (others == 0) return text + ", and newer ones\n";
  char line[160];
  std::snprintf(
      line, sizeof(line),
      ", and newer ones, where %d of %zu tasks have another kernel (%.1f MB of the weights)\n",
      static_cast<int>(others), report.choices.size(),
      report.library.substitute_weights_bytes / 1e6);
  return text + line;
}

}  // namespace

std::string ToText(const CompileReport& report) {
  const double total = TotalNs(report);
  std::vector<size_t> order(report.choices.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return TimeOf(report, a) > TimeOf(report, b); });
  std::string text;
  const bool lacks_times = std::any_of(report.choices.begin(), report.choices.end(),
                                       [](const auto& choice) { return choice.expected_ns <= 0; });
  for (const size_t i : order) text += Row(report, i, total);
  if (report.sizes != nullptr) text += SizesText(report);
  char line[256];
  std::snprintf(
      line, sizeof(line),
      "%zu tasks, %zu kernel calls, expected %.3f ms%s\n"
      "arena %.2f MB (%.2f MB without sharing), scratch %.2f MB, weights %.1f MB, code %.2f MB",
      report.choices.size(), report.program.steps.size(), total / 1e6,
      lacks_times ? " for those with a time" : "", report.library.arena_bytes / 1e6,
      report.program.unshared_bytes / 1e6, report.library.scratch_bytes / 1e6,
      report.library.weights_bytes / 1e6, report.library.code_bytes / 1e6);
  text += line;
  if (report.library.unpacked_code_bytes > 0) {
    std::snprintf(line, sizeof(line), " (%.2f MB unpacked)",
                  report.library.unpacked_code_bytes / 1e6);
    text += line;
  }
  text += '\n';
  if (const auto* gpu = report.target.As<target::GpuTarget>()) text += DevicesText(report, *gpu);
  if (!report.note.empty()) text += report.note + "\n";
  text += UntunedText(report.choices);
  return text;
}

std::string ToJson(const CompileReport& report) {
  nlohmann::ordered_json json;
  json["schema"] = "mlc.compile/1";
  json["target"] = report.target.ToText();
  json["shared_library"] = report.library.shared_library;
  json["static_library"] = report.library.static_library;
  json["expected_ms"] = TotalNs(report) / 1e6;
  json["arena_bytes"] = report.library.arena_bytes;
  json["unshared_bytes"] = report.program.unshared_bytes;
  json["scratch_bytes"] = report.library.scratch_bytes;
  json["weights_bytes"] = report.library.weights_bytes;
  json["code_bytes"] = report.library.code_bytes;
  if (report.sizes != nullptr) {
    json["dims"] = report.sizes->dims;
    if (report.sizes->ranges) json["ranges"] = RangesJson(*report.sizes);
    json["plans"] = nlohmann::ordered_json::array();
    for (const package::Plan& plan : report.sizes->plans) {
      json["plans"].push_back(PlanJson(report, plan));
    }
  }
  if (!report.note.empty()) json["variant"] = report.note;
  if (report.target.As<target::GpuTarget>() != nullptr) {
    json["portable"] = report.library.portable;
    json["unpacked_code_bytes"] = report.library.unpacked_code_bytes;
    json["substitute_weights_bytes"] = report.library.substitute_weights_bytes;
  }
  nlohmann::ordered_json tasks = nlohmann::ordered_json::array();
  for (size_t i = 0; i < report.choices.size(); ++i) {
    const graph::Task& task = report.program.tasks[i];
    const package::Choice& choice = report.choices[i];
    tasks.push_back({{"workload", task.workload.digest().ToText()},
                     {"summary", task.workload.Summary()},
                     {"occurrences", task.occurrences},
                     {"config", choice.config.ToText()},
                     {"origin", package::ToText(choice.origin)},
                     {"user_kernel", schedule::IsUserKernel(choice.config)},
                     {"tuned", IsTuned(choice)},
                     {"transferred_from", choice.note},
                     {"expected_us", choice.expected_ns / 1e3}});
    if (choice.substitute) tasks.back()["substitute"] = choice.substitute->ToText();
  }
  json["tasks"] = tasks;
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace mlc::client
