#include "server/fleet/abilities.h"

#include <algorithm>

namespace mlc::server::fleet {
namespace {

bool AnyOf(const std::vector<Offer>& offers, const std::string& target_class) {
  return std::ranges::any_of(
      offers, [&](const Offer& offer) { return offer.target_class == target_class; });
}

bool AnyMeets(const std::vector<Offer>& offers, const Needs& needs) {
  return std::ranges::any_of(offers, [&](const Offer& offer) { return offer.Meets(needs); });
}

}  // namespace

bool Matches(const std::string& pattern, const std::string& text) {
  size_t p = 0, t = 0, star = std::string::npos, resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p, ++t;
    } else if (star != std::string::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string::npos;
}

void Abilities::Learn(const Offer& offer, bool ours) { Add(offer, ours ? ours_ : earlier_); }

void Abilities::Add(const Offer& offer, std::vector<Offer>& offers) {
  const auto same = std::ranges::find_if(offers, [&](const Offer& known) {
    return known.target_class == offer.target_class && known.kernels == offer.kernels;
  });
  if (same == offers.end()) {
    offers.push_back(offer);
  } else if (offer.memory_bytes == 0 || same->memory_bytes == 0) {
    same->memory_bytes = 0;  // not reported
  } else {
    same->memory_bytes = std::max(same->memory_bytes, offer.memory_bytes);
  }
}

bool Abilities::Meet(const Needs& needs) const {
  if (AnyMeets(ours_, needs) || AnyMeets(earlier_, needs)) return true;
  if (ours_.empty() && earlier_.empty()) {
    return Declared(needs) &&
           std::ranges::any_of(declared_.classes, [&](const std::string& pattern) {
             return Matches(pattern, needs.target_class);
           });
  }
  if (AnyOf(ours_, needs.target_class)) return false;
  return AnyOf(earlier_, needs.target_class) && Declared(needs);
}

bool Abilities::Declared(const Needs& needs) const {
  if (declared_.memory_bytes > 0 && needs.memory_bytes > declared_.memory_bytes) return false;
  return !needs.reported_only || declared_.user_kernels;
}

}  // namespace mlc::server::fleet
