#include "server/scheduler/fair_shares.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace mlc::server {
namespace {

// The minimum cost of a trial, and the assumed cost of one without an estimate. A power of two, so
// that equal trials add up exactly.
constexpr double kLeastSeconds = 1.0 / 8192;
// Of a new trial in what is usual.
constexpr double kNewest = 0.125;
// Beyond so many, those of whom nothing is under way are forgotten.
constexpr size_t kManyUsers = 1024;
constexpr size_t kManyClasses = 64;

void Note(double& usual, double seconds) {
  usual = usual == 0 ? seconds : usual + kNewest * (seconds - usual);
}

}  // namespace

FairShares::Place FairShares::PlaceOf(const Digest& job_id) const {
  const auto found = places_.find(job_id);
  return found == places_.end() ? Place{job_id.ToText(), 0} : found->second;
}

double FairShares::WeightOf(const std::string& user) const {
  const auto found = weights_.find(user);
  return found == weights_.end() ? 1 : found->second;
}

void FairShares::Set(const Digest& job_id, Place place) {
  const Place before = PlaceOf(job_id);
  SetPlace(job_id, place);
  for (auto& [name, shared] : classes_) {
    const auto user = shared.users.find(before.user);
    if (user == shared.users.end()) continue;
    const auto level = user->second.levels.find(before.priority);
    if (level == user->second.levels.end() || !level->second.waiting.contains(job_id)) continue;
    Leave(shared, job_id, before);
    Join(shared, job_id, place);
  }
}

void FairShares::SetWeight(const std::string& user, double weight) { weights_[user] = weight; }

void FairShares::Remove(const Digest& job_id) {
  const Place place = PlaceOf(job_id);
  for (auto& [name, shared] : classes_) {
    const auto user = shared.users.find(place.user);
    if (user == shared.users.end()) continue;
    Leave(shared, job_id, place);
    user->second.jobs_had.erase(job_id);
    shared.usual_of.erase(job_id);
    // Who is ahead of the others stays known: a new job is no way around what the last one took.
    if (user->second.jobs_had.empty() && user->second.had <= shared.now) {
      shared.users.erase(user);
    }
  }
  DropPlace(job_id);
  if (classes_.size() > kManyClasses) {
    std::erase_if(classes_, [this](const auto& entry) {
      return std::all_of(entry.second.users.begin(), entry.second.users.end(),
                         [this](const auto& user) { return IsIdle(user.second); });
    });
  }
  for (auto& [name, shared] : classes_) Prune(shared);
}

void FairShares::SetPlace(const Digest& job_id, const Place& place) {
  ++jobs_of_[place.user];  // first: a user who keeps a job keeps the weight
  DropPlace(job_id);
  places_[job_id] = place;
}

void FairShares::DropPlace(const Digest& job_id) {
  const auto found = places_.find(job_id);
  if (found == places_.end()) return;
  const auto user = jobs_of_.find(found->second.user);
  if (--user->second == 0) {
    weights_.erase(user->first);
    jobs_of_.erase(user);
  }
  places_.erase(found);
}

bool FairShares::IsIdle(const User& user) const {
  return user.waiting == 0 &&
         std::none_of(user.jobs_had.begin(), user.jobs_had.end(),
                      [&](const auto& job_id) { return places_.contains(job_id.first); });
}

// A lead is as long as a trial or so: those with the least lose it where there are too many.
void FairShares::Prune(Class& shared) const {
  if (shared.users.size() <= kManyUsers) return;
  std::vector<std::pair<double, std::string>> idle;
  for (const auto& [name, user] : shared.users) {
    if (IsIdle(user)) idle.emplace_back(user.had, name);
  }
  if (idle.size() <= kManyUsers / 2) return;
  std::sort(idle.begin(), idle.end());
  idle.resize(idle.size() - kManyUsers / 2);
  for (const auto& [had, name] : idle) {
    const User& user = shared.users.at(name);
    for (const auto& [job_id, seconds] : user.jobs_had) shared.usual_of.erase(job_id);
    shared.users.erase(name);
  }
}

int64_t FairShares::size() const {
  size_t known = places_.size() + jobs_of_.size() + weights_.size() + classes_.size();
  for (const auto& [name, shared] : classes_) known += shared.users.size() + shared.usual_of.size();
  return static_cast<int64_t>(known);
}

void FairShares::SetWaiting(const std::string& target_class, const Digest& job_id, bool waiting) {
  if (waiting) {
    Join(classes_[target_class], job_id, PlaceOf(job_id));
  } else if (const auto found = classes_.find(target_class); found != classes_.end()) {
    Leave(found->second, job_id, PlaceOf(job_id));
  }
}

void FairShares::Advance(Class& shared) {
  if (shared.waiting.empty()) return;
  double least = shared.users.at(*shared.waiting.begin()).had;
  for (const std::string& user : shared.waiting) {
    least = std::min(least, shared.users.at(user).had);
  }
  shared.now = std::max(shared.now, least);
}

void FairShares::Advance(const User& user, Level& level) {
  if (level.waiting.empty()) return;
  double least = user.jobs_had.at(*level.waiting.begin());
  for (const Digest& job_id : level.waiting) least = std::min(least, user.jobs_had.at(job_id));
  level.now = std::max(level.now, least);
}

void FairShares::Join(Class& shared, const Digest& job_id, const Place& place) {
  User& user = shared.users[place.user];
  Level& level = user.levels[place.priority];
  if (level.waiting.contains(job_id)) return;
  if (user.waiting++ == 0) {
    Advance(shared);
    user.had = std::max(user.had, shared.now);
    shared.waiting.insert(place.user);
  }
  Advance(user, level);
  double& had = user.jobs_had[job_id];
  had = std::max(had, level.now);
  level.waiting.insert(job_id);
}

void FairShares::Leave(Class& shared, const Digest& job_id, const Place& place) {
  const auto found = shared.users.find(place.user);
  if (found == shared.users.end()) return;
  User& user = found->second;
  const auto level = user.levels.find(place.priority);
  if (level == user.levels.end() || !level->second.waiting.contains(job_id)) return;
  Advance(user, level->second);
  level->second.waiting.erase(job_id);
  if (--user.waiting > 0) return;
  Advance(shared);
  shared.waiting.erase(place.user);
}

std::map<std::string, std::vector<FairShares::Share>> FairShares::SharesByClass() const {
  std::map<std::string, std::vector<Share>> all;
  for (const auto& [name, shared] : classes_) {
    std::vector<Share>& shares = all[name];
    for (const auto& [user, state] : shared.users) {
      shares.push_back({user, state.had, WeightOf(user), state.waiting});
    }
  }
  return all;
}

std::vector<Digest> FairShares::Order(const std::string& target_class) const {
  const auto found = classes_.find(target_class);
  if (found == classes_.end()) return {};
  const Class& shared = found->second;
  std::vector<std::tuple<double, int, double, Digest>> turns;
  for (const std::string& name : shared.waiting) {
    const User& user = shared.users.at(name);
    for (const auto& [priority, level] : user.levels) {
      for (const Digest& job_id : level.waiting) {
        turns.emplace_back(user.had, -priority, user.jobs_had.at(job_id), job_id);
      }
    }
  }
  // Users who are even are told apart by their jobs: any order will do, if it is one.
  std::sort(turns.begin(), turns.end());
  std::vector<Digest> order;
  for (const auto& turn : turns) order.push_back(std::get<Digest>(turn));
  return order;
}

double FairShares::UsualOf(const Class& shared, const Digest& job_id) {
  const auto known = shared.usual_of.find(job_id);
  const double usual = known == shared.usual_of.end() ? shared.usual : known->second;
  return std::max(usual, kLeastSeconds);
}

double FairShares::Charge(const std::string& target_class, const Digest& job_id) {
  const Place place = PlaceOf(job_id);
  Class& shared = classes_[target_class];
  Advance(shared);
  User& user = shared.users[place.user];
  Advance(user, user.levels[place.priority]);
  const double seconds = UsualOf(shared, job_id);
  user.had += seconds / WeightOf(place.user);
  user.jobs_had[job_id] += seconds;
  return seconds;
}

void FairShares::Settle(const std::string& target_class, const Digest& job_id, double charged,
                        double seconds) {
  seconds = std::max(seconds, kLeastSeconds);
  const Place place = PlaceOf(job_id);
  const auto shared = classes_.find(target_class);
  if (shared == classes_.end()) return;
  Note(shared->second.usual, seconds);
  const auto user = shared->second.users.find(place.user);
  // The job has ended and is forgotten.
  if (user == shared->second.users.end() || !user->second.jobs_had.contains(job_id)) return;
  Note(shared->second.usual_of[job_id], seconds);
  User& owner = user->second;
  double& had = owner.jobs_had[job_id];
  owner.had += (seconds - charged) / WeightOf(place.user);
  had += seconds - charged;
  // Who had less than was thought is where those begin who come now.
  if (shared->second.waiting.contains(place.user)) {
    shared->second.now = std::min(shared->second.now, owner.had);
  }
  Level& level = owner.levels[place.priority];
  if (level.waiting.contains(job_id)) level.now = std::min(level.now, had);
}

}  // namespace mlc::server
