#include "server/security/grants.h"

#include <string_view>

namespace mlc::server {

void Grants::Give(const std::string& uid, const std::string& worker) {
  const Digest key = DigestOf(std::string_view(uid));
  std::lock_guard lock(mutex_);
  const uint32_t number =
      workers_.try_emplace(worker, static_cast<uint32_t>(workers_.size())).first->second;
  const auto [place, is_new] = first_.try_emplace(key, number);
  if (!is_new) {
    if (place->second != number) others_[key].insert(number);
    return;
  }
  order_.push_back(key);
  if (order_.size() <= most_) return;
  first_.erase(order_.front());
  others_.erase(order_.front());
  order_.pop_front();
}

bool Grants::MayFinish(const std::string& uid, const std::string& worker) const {
  const Digest key = DigestOf(std::string_view(uid));
  std::lock_guard lock(mutex_);
  const auto first = first_.find(key);
  if (first == first_.end()) return true;
  const auto number = workers_.find(worker);
  if (number == workers_.end()) return false;
  if (first->second == number->second) return true;
  const auto others = others_.find(key);
  return others != others_.end() && others->second.contains(number->second);
}

}  // namespace mlc::server
