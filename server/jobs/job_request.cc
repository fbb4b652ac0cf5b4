#include "server/jobs/job_request.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>

#include "compiler/schedule/admission.h"
#include "compiler/schedule/cuda/user_kernel/tuned_kernel.h"
#include "compiler/schedule/cuda/user_kernel/user_kernel.h"
#include "db/whole_number.h"
#include "server/search/user_kernel_strategy.h"

namespace mlc::server {
namespace {

constexpr size_t kMaxTasks = 10'000;
constexpr int64_t kMaxTrials = 100'000'000;
constexpr int kMaxBatch = 1024;
constexpr size_t kMaxLabel = 200;
constexpr int kMaxPriority = 100;
constexpr size_t kMaxVariants = 16;
constexpr size_t kMaxVariantName = 64;
constexpr int32_t kMaxUses = 1'000'000'000;
// Over all tasks: opening their spaces keeps a search thread for so long that others wait.
constexpr double kMaxPlaces = 200'000;

Status CheckOptions(const SubmittedOptions& options) {
  if (options.trials < 1 || options.trials > kMaxTrials) {
    return InvalidArgument("trials must be between 1 and " + std::to_string(kMaxTrials));
  }
  if (options.batch < 0 || options.batch > kMaxBatch) {
    return InvalidArgument("batch must be between 0 and " + std::to_string(kMaxBatch));
  }
  if (options.priority < -kMaxPriority || options.priority > kMaxPriority) {
    return InvalidArgument("priority must be between -100 and 100");
  }
  if (options.time_budget_ms < 0) return InvalidArgument("the time budget is negative");
  if (options.reproducible && options.time_budget_ms > 0) {
    return InvalidArgument(
        "a reproducible job has no time budget: how far it got in a time would "
        "be chance; give trials alone");
  }
  return Status();
}

Result<std::vector<JobVariant>> VariantsOf(const Submission& request) {
  if (request.variants.size() > kMaxVariants) {
    return InvalidArgument("more than " + std::to_string(kMaxVariants) + " variants");
  }
  std::vector<JobVariant> variants;
  for (const std::string& name : request.variants) {
    const std::string where = "variant " + std::to_string(variants.size());
    const auto is_printable = [](char c) { return c >= ' ' && c <= '~'; };
    if (name.empty() || name.size() > kMaxVariantName ||
        !std::all_of(name.begin(), name.end(), is_printable)) {
      return InvalidArgument(where + ": a name of 1 to 64 printable characters is needed");
    }
    for (const JobVariant& other : variants) {
      if (other.name == name) return InvalidArgument(where + ": a name used before");
    }
    variants.push_back({name, {}});
  }
  return variants;
}

// Notes how often each variant uses the task.
Status AddUses(const SubmittedTask& task, std::vector<JobVariant>& variants) {
  if (task.uses.size() != variants.size()) {
    return InvalidArgument("as many uses are needed as the job has variants");
  }
  bool used = variants.empty();
  for (size_t v = 0; v < variants.size(); ++v) {
    const int32_t uses = task.uses[v];
    if (uses < 0 || uses > kMaxUses) return InvalidArgument("uses out of range");
    used = used || uses > 0;
    variants[v].uses.push_back(uses);
  }
  return used ? Status() : InvalidArgument("no variant uses it");
}

}  // namespace

std::string JobOptions::ToText() const {
  nlohmann::ordered_json json;
  json["trials"] = trials;
  json["seed"] = seed;
  json["use_history"] = use_history;
  json["time_budget_ms"] = time_budget_ms;
  json["batch"] = batch;
  json["models"] = models;
  for (const JobVariant& variant : variants) {
    json["variants"].push_back({{"name", variant.name}, {"uses", variant.uses}});
  }
  if (reproducible) json["reproducible"] = true;
  if (!user_kernel.empty()) json["user_kernel"] = user_kernel;
  return json.dump();
}

namespace {

Result<JobOptions> OptionsFrom(const nlohmann::json& json) {
  using db::WholeField;
  JobOptions options;
  options.trials = MLC_TRY(WholeField<int64_t>(json, "trials", 0));
  options.seed = MLC_TRY(WholeField<uint64_t>(json, "seed", 0));
  options.use_history = json.value("use_history", true);
  options.time_budget_ms = MLC_TRY(WholeField<int64_t>(json, "time_budget_ms", 0));
  options.batch = MLC_TRY(WholeField(json, "batch", options.batch));
  options.models = MLC_TRY(WholeField(json, "models", options.models));
  for (const auto& variant : json.value("variants", nlohmann::json::array())) {
    JobVariant& known = options.variants.emplace_back();
    known.name = variant.at("name").get<std::string>();
    for (const auto& uses : variant.at("uses")) {
      known.uses.push_back(MLC_TRY(db::WholeNumber<int32_t>(uses, "uses")));
    }
  }
  options.reproducible = json.value("reproducible", false);
  options.user_kernel = json.value("user_kernel", options.user_kernel);
  return options;
}

}  // namespace

Result<JobOptions> JobOptions::Parse(const std::string& text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) return DataLoss("a job's options cannot be read: " + text);
  // The library throws for a field of the wrong type.
  try {
    Result<JobOptions> options = OptionsFrom(json);
    if (options.ok()) return options;
    return DataLoss("a job's options cannot be read: " + options.status().message());
  } catch (const nlohmann::json::exception& error) {
    return DataLoss("a job's options cannot be read: " + std::string(error.what()));
  }
}

Result<graph::Workload> ParseWorkload(std::string_view text) {
  graph::Workload workload = MLC_TRY(graph::Workload::Parse(text));
  MLC_TRY(schedule::CheckAdmissible(workload));
  return workload;
}

Result<JobRequest> ParseJobRequest(const Submission& request) {
  MLC_TRY(CheckOptions(request.options));
  if (request.tasks.empty()) return InvalidArgument("the job has no tasks");
  if (request.tasks.size() > kMaxTasks) return InvalidArgument("the job has too many tasks");
  JobRequest job;
  job.options.variants = MLC_TRY(VariantsOf(request));
  std::set<Digest> seen;
  double places = 0;
  for (const SubmittedTask& task : request.tasks) {
    const std::string where = "task " + std::to_string(job.tasks.size());
    Result<graph::Workload> workload = ParseWorkload(task.workload);
    if (!workload.ok()) return workload.status().WithPrefix(where);
    places += schedule::PlacesToCompute(*workload);
    if (places > kMaxPlaces) {
      return InvalidArgument(where +
                             ": this workload and those before it compute more than "
                             "200000 values for an element of each: split the model");
    }
    if (workload->ToText() != task.workload) {
      return InvalidArgument(where + ": the workload's text is not canonical");
    }
    if (!seen.insert(workload->digest()).second) {
      return InvalidArgument(where + ": the same workload as an earlier task");
    }
    if (task.occurrences < 1) return InvalidArgument(where + ": occurrences must be positive");
    if (Status uses = AddUses(task, job.options.variants); !uses.ok()) {
      return uses.WithPrefix(where);
    }
    job.tasks.push_back({workload->digest(), task.occurrences, task.label.substr(0, kMaxLabel)});
    job.workloads.push_back(*std::move(workload));
  }
  job.target = MLC_TRY(target::Target::Parse(request.target));
  job.options.trials = request.options.trials;
  job.options.seed = request.options.seed;
  job.options.use_history = !request.options.fresh;
  job.options.reproducible = request.options.reproducible;
  job.options.time_budget_ms = request.options.time_budget_ms;
  if (request.options.batch > 0) job.options.batch = request.options.batch;
  job.fresh = request.options.fresh;
  job.priority = request.options.priority;
  job.label = request.label.substr(0, kMaxLabel);
  return job;
}

namespace {

// The default config of the specification, as the job's.
Result<JobRequest> ParseTunedKernelRequest(const KernelSubmission& request) {
  JobRequest job = MLC_TRY(ParseJobRequest(request.job));
  if (job.tasks.size() != 1) return InvalidArgument("a user-supplied kernel is for one workload");
  const schedule::TunedKernel kernel = MLC_TRY(
      schedule::TunedKernel::Open(MLC_TRY(schedule::KernelSpec::Parse(request.specification))));
  const schedule::Config config = kernel.At(kernel.default_point());
  MLC_TRY(schedule::CheckFits(MLC_TRY(kernel.Instantiate(config)), job.target));
  MLC_TRY(schedule::CheckArguments(kernel.spec(), job.workloads.front()));
  job.options.user_kernel = config.ToText();
  return job;
}

}  // namespace

Result<JobRequest> ParseUserKernelRequest(const KernelSubmission& request) {
  if (!request.specification.empty()) return ParseTunedKernelRequest(request);
  Submission asked = request.job;
  asked.options.trials = kUserKernelTrials;
  asked.options.batch = kUserKernelTrials;
  JobRequest job = MLC_TRY(ParseJobRequest(asked));
  if (job.tasks.size() != 1) return InvalidArgument("a user-supplied kernel is for one workload");
  const Result<schedule::Config> config = request.kernel.ToConfig();
  if (!config.ok()) return config.status();
  MLC_TRY(schedule::CheckFits(request.kernel, job.target));
  job.options.user_kernel = config->ToText();
  return job;
}

Result<std::string> OwnerOf(const Submission& request, const Caller& caller) {
  if (!caller.local || request.user.empty()) return caller.name;
  const Result<Caller> named = ParseIdentity("submit/" + request.user);
  if (!named.ok()) return named.status().WithPrefix("user");
  return named->name;
}

Digest JobIdOf(const JobRequest& request, int64_t salt) {
  std::string text = "study v1 seed=" + std::to_string(request.options.seed) +
                     " batch=" + std::to_string(request.options.batch) +
                     " salt=" + std::to_string(salt) + "\n" + request.target.ClassText() + "\n";
  if (request.options.reproducible) text += "reproducible\n";
  if (!request.options.user_kernel.empty()) text += request.options.user_kernel + "\n";
  for (const db::JobTask& task : request.tasks) {
    text += task.workload.ToText() + " " + std::to_string(task.occurrences) + "\n";
  }
  // Names are words for people.
  for (const JobVariant& variant : request.options.variants) {
    text += "variant";
    for (const int32_t uses : variant.uses) text += " " + std::to_string(uses);
    text += '\n';
  }
  return DigestOf(std::string_view(text));
}

}  // namespace mlc::server
