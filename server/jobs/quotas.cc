#include "server/jobs/quotas.h"

#include <nlohmann/json.hpp>

#include "db/whole_number.h"

namespace mlc::server {
namespace {

using Json = nlohmann::json;

constexpr double kMostWeight = 1000;

struct Number {
  const char* name;
  int64_t Limits::*field;
};
constexpr Number kNumbers[] = {{"running_jobs", &Limits::running_jobs},
                               {"queued_trials", &Limits::queued_trials},
                               {"tasks_per_job", &Limits::tasks_per_job},
                               {"request_bytes", &Limits::request_bytes}};

Status SetLimit(const std::string& name, const Json& value, Limits& limits) {
  if (name == "weight") {
    if (!value.is_number() || !(value > 0) || value > kMostWeight) {
      return InvalidArgument("weight must be above 0 and at most 1000");
    }
    limits.weight = value;
    return Status();
  }
  for (const Number& number : kNumbers) {
    if (name != number.name) continue;
    // A number beyond 64 bits with a sign would wrap to a quota below zero.
    const Result<int64_t> whole = db::WholeNumber<int64_t>(value, name);
    if (!whole.ok() || *whole < 0) {
      return InvalidArgument(name + " must be a whole number that is not negative");
    }
    limits.*number.field = *whole;
    return Status();
  }
  return InvalidArgument("'" + name +
                         "' is not one of weight, running_jobs, queued_trials, tasks_per_job, "
                         "request_bytes");
}

Result<Limits> LimitsFrom(const std::string& where, const Json& json, Limits limits) {
  if (!json.is_object()) return InvalidArgument("quotas: " + where + " is not an object");
  for (const auto& [name, value] : json.items()) {
    const Status status = SetLimit(name, value, limits);
    if (!status.ok()) return status.WithPrefix("quotas: " + where);
  }
  return limits;
}

Status Exceeds(const std::string& what, int64_t limit, const std::string& advice) {
  return Status(StatusCode::kResourceExhausted,
                what + "; the server's quota is " + std::to_string(limit) + ": " + advice);
}

}  // namespace

Result<Quotas> Quotas::Parse(const std::string& text) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return InvalidArgument("quotas: not a JSON object");
  Quotas quotas;
  if (json.contains("default")) {
    quotas.default_ = MLC_TRY(LimitsFrom("default", json["default"], Limits()));
  }
  for (const auto& [name, value] : json.items()) {
    if (name == "default") continue;
    if (name != "users") return InvalidArgument("quotas: '" + name + "' is not default or users");
    if (!value.is_object()) return InvalidArgument("quotas: users is not an object");
    for (const auto& [user, limits] : value.items()) {
      quotas.users_[user] = MLC_TRY(LimitsFrom("user " + user, limits, quotas.default_));
    }
  }
  return quotas;
}

const Limits& Quotas::LimitsOf(const std::string& user) const {
  const auto found = users_.find(user);
  return found == users_.end() ? default_ : found->second;
}

Status Quotas::Admit(const std::string& user, const Usage& usage, const Asked& asked) const {
  const Limits& limits = LimitsOf(user);
  if (asked.bytes > limits.request_bytes) {
    return Exceeds("the request has " + std::to_string(asked.bytes) + " bytes",
                   limits.request_bytes, "ask for fewer tasks at a time");
  }
  if (asked.tasks > limits.tasks_per_job) {
    return Exceeds("the job has " + std::to_string(asked.tasks) + " tasks", limits.tasks_per_job,
                   "split the model, or ask the administrator for more");
  }
  if (usage.running_jobs >= limits.running_jobs) {
    return Exceeds(user + " has " + std::to_string(usage.running_jobs) + " jobs running",
                   limits.running_jobs, "wait for one of them, or cancel one (mlc-tune jobs)");
  }
  if (usage.queued_trials + asked.trials > limits.queued_trials) {
    return Exceeds(user + " waits for " + std::to_string(usage.queued_trials) +
                       " trials and asks for " + std::to_string(asked.trials) + " more",
                   limits.queued_trials, "ask for fewer --trials, or cancel a job");
  }
  return Status();
}

}  // namespace mlc::server
