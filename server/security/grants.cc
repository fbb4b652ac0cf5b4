#include "server/security/grants.h"

#include <string_view>

namespace mlc::server {

void Grants::Record(const std::string& uid, const std::string& worker) {
  const Digest key = DigestOf(std::string_view(uid));
  const MutexLock lock(mutex_);
  Workers::value_type& given = *workers_.try_emplace(worker, 0).first;
  const auto [place, is_new] = first_.try_emplace(key, &given);
  if (!is_new) {
    if (place->second != &given && others_[key].insert(&given).second) ++given.second;
    return;
  }
  ++given.second;
  order_.push_back(key);
  if (order_.size() <= most_) return;
  const Digest oldest = order_.front();
  order_.pop_front();
  Release(first_.at(oldest)->first);
  first_.erase(oldest);
  const auto others = others_.find(oldest);
  if (others == others_.end()) return;
  for (const Worker other : others->second) Release(other->first);
  others_.erase(others);
}

void Grants::Release(const std::string& worker) {
  const auto known = workers_.find(worker);
  if (--known->second == 0) workers_.erase(known);
}

size_t Grants::workers() const {
  const MutexLock lock(mutex_);
  return workers_.size();
}

bool Grants::MayFinish(const std::string& uid, const std::string& worker) const {
  const Digest key = DigestOf(std::string_view(uid));
  const MutexLock lock(mutex_);
  const auto first = first_.find(key);
  if (first == first_.end()) return true;
  if (first->second->first == worker) return true;
  const auto others = others_.find(key);
  if (others == others_.end()) return false;
  const auto known = workers_.find(worker);
  return known != workers_.end() && others->second.contains(&*known);
}

}  // namespace mlc::server
