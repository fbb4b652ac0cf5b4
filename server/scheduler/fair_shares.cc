#include "server/scheduler/fair_shares.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace mlc::server {
namespace {

// Nothing takes less; and what a trial is taken for while nobody knows. A power of two, so that
// equal trials add up exactly.
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

FairShares::Place FairShares::PlaceOf(const Digest& study) const {
  const auto found = places_.find(study);
  return found == places_.end() ? Place{study.ToText(), 0} : found->second;
}

double FairShares::WeightOf(const std::string& user) const {
  const auto found = weights_.find(user);
  return found == weights_.end() ? 1 : found->second;
}

void FairShares::Set(const Digest& study, Place place) {
  const Place before = PlaceOf(study);
  SetPlace(study, place);
  for (auto& [name, shared] : classes_) {
    const auto user = shared.users.find(before.user);
    if (user == shared.users.end()) continue;
    const auto level = user->second.levels.find(before.priority);
    if (level == user->second.levels.end() || !level->second.waiting.contains(study)) continue;
    Leave(shared, study, before);
    Join(shared, study, place);
  }
}

void FairShares::SetWeight(const std::string& user, double weight) { weights_[user] = weight; }

void FairShares::Remove(const Digest& study) {
  const Place place = PlaceOf(study);
  for (auto& [name, shared] : classes_) {
    const auto user = shared.users.find(place.user);
    if (user == shared.users.end()) continue;
    Leave(shared, study, place);
    user->second.studies_had.erase(study);
    shared.usual_of.erase(study);
    // Who is ahead of the others stays known: a new job is no way around what the last one took.
    if (user->second.studies_had.empty() && user->second.had <= shared.now) {
      shared.users.erase(user);
    }
  }
  DropPlace(study);
  if (classes_.size() > kManyClasses) {
    std::erase_if(classes_, [this](const auto& entry) {
      return std::all_of(entry.second.users.begin(), entry.second.users.end(),
                         [this](const auto& user) { return IsIdle(user.second); });
    });
  }
  for (auto& [name, shared] : classes_) Prune(shared);
}

void FairShares::SetPlace(const Digest& study, const Place& place) {
  ++studies_of_[place.user];  // first: a user who keeps a study keeps the weight
  DropPlace(study);
  places_[study] = place;
}

void FairShares::DropPlace(const Digest& study) {
  const auto found = places_.find(study);
  if (found == places_.end()) return;
  const auto user = studies_of_.find(found->second.user);
  if (--user->second == 0) {
    weights_.erase(user->first);
    studies_of_.erase(user);
  }
  places_.erase(found);
}

bool FairShares::IsIdle(const User& user) const {
  return user.waiting == 0 &&
         std::none_of(user.studies_had.begin(), user.studies_had.end(),
                      [&](const auto& study) { return places_.contains(study.first); });
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
    for (const auto& [study, seconds] : user.studies_had) shared.usual_of.erase(study);
    shared.users.erase(name);
  }
}

int64_t FairShares::size() const {
  size_t known = places_.size() + studies_of_.size() + weights_.size() + classes_.size();
  for (const auto& [name, shared] : classes_) known += shared.users.size() + shared.usual_of.size();
  return static_cast<int64_t>(known);
}

void FairShares::SetWaiting(const std::string& target_class, const Digest& study, bool waiting) {
  if (waiting) {
    Join(classes_[target_class], study, PlaceOf(study));
  } else if (const auto found = classes_.find(target_class); found != classes_.end()) {
    Leave(found->second, study, PlaceOf(study));
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
  double least = user.studies_had.at(*level.waiting.begin());
  for (const Digest& study : level.waiting) least = std::min(least, user.studies_had.at(study));
  level.now = std::max(level.now, least);
}

void FairShares::Join(Class& shared, const Digest& study, const Place& place) {
  User& user = shared.users[place.user];
  Level& level = user.levels[place.priority];
  if (level.waiting.contains(study)) return;
  if (user.waiting++ == 0) {
    Advance(shared);
    user.had = std::max(user.had, shared.now);
    shared.waiting.insert(place.user);
  }
  Advance(user, level);
  double& had = user.studies_had[study];
  had = std::max(had, level.now);
  level.waiting.insert(study);
}

void FairShares::Leave(Class& shared, const Digest& study, const Place& place) {
  const auto found = shared.users.find(place.user);
  if (found == shared.users.end()) return;
  User& user = found->second;
  const auto level = user.levels.find(place.priority);
  if (level == user.levels.end() || !level->second.waiting.contains(study)) return;
  Advance(user, level->second);
  level->second.waiting.erase(study);
  if (--user.waiting > 0) return;
  Advance(shared);
  shared.waiting.erase(place.user);
}

std::vector<Digest> FairShares::Order(const std::string& target_class) const {
  const auto found = classes_.find(target_class);
  if (found == classes_.end()) return {};
  const Class& shared = found->second;
  std::vector<std::tuple<double, int, double, Digest>> turns;
  for (const std::string& name : shared.waiting) {
    const User& user = shared.users.at(name);
    for (const auto& [priority, level] : user.levels) {
      for (const Digest& study : level.waiting) {
        turns.emplace_back(user.had, -priority, user.studies_had.at(study), study);
      }
    }
  }
  // Users who are even are told apart by their studies: any order will do, if it is one.
  std::sort(turns.begin(), turns.end());
  std::vector<Digest> order;
  for (const auto& turn : turns) order.push_back(std::get<Digest>(turn));
  return order;
}

double FairShares::UsualOf(const Class& shared, const Digest& study) {
  const auto known = shared.usual_of.find(study);
  const double usual = known == shared.usual_of.end() ? shared.usual : known->second;
  return std::max(usual, kLeastSeconds);
}

double FairShares::Charge(const std::string& target_class, const Digest& study) {
  const Place place = PlaceOf(study);
  Class& shared = classes_[target_class];
  Advance(shared);
  User& user = shared.users[place.user];
  Advance(user, user.levels[place.priority]);
  const double seconds = UsualOf(shared, study);
  user.had += seconds / WeightOf(place.user);
  user.studies_had[study] += seconds;
  return seconds;
}

void FairShares::Settle(const std::string& target_class, const Digest& study, double charged,
                        double seconds) {
  seconds = std::max(seconds, kLeastSeconds);
  const Place place = PlaceOf(study);
  const auto shared = classes_.find(target_class);
  if (shared == classes_.end()) return;
  Note(shared->second.usual, seconds);
  const auto user = shared->second.users.find(place.user);
  // The study has ended and is forgotten.
  if (user == shared->second.users.end() || !user->second.studies_had.contains(study)) return;
  Note(shared->second.usual_of[study], seconds);
  User& owner = user->second;
  double& had = owner.studies_had[study];
  owner.had += (seconds - charged) / WeightOf(place.user);
  had += seconds - charged;
  // Who had less than was thought is where those begin who come now.
  if (shared->second.waiting.contains(place.user)) {
    shared->second.now = std::min(shared->second.now, owner.had);
  }
  Level& level = owner.levels[place.priority];
  if (level.waiting.contains(study)) level.now = std::min(level.now, had);
}

}  // namespace mlc::server
