// Which work the workers of a pool can do: what its terms declare, until its workers have told it
// themselves. Pure; not thread-safe.
//
// What a worker that this server asked for tells is final: the next one would be of the same make.
// Those that an earlier server left tell which class their machines are of, but they may be of an
// older make: what they cannot do, a new one may.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "server/scheduler/capability.h"

namespace mlc::server::fleet {

// Shell-style: '*' stands for any text.
bool Matches(const std::string& pattern, const std::string& text);

struct DeclaredAbilities {
  std::vector<std::string> classes;  // patterns with '*' of the target classes
  int64_t memory_bytes = 0;          // for tensors; 0: not reported, enough is assumed
  bool user_kernels = false;         // user-supplied kernels
};

class Abilities {
 public:
  explicit Abilities(DeclaredAbilities declared = {}) : declared_(std::move(declared)) {}

  // A worker of the pool is there. `ours`: this server asked for it.
  void Learn(const Offer& offer, bool ours);
  bool Meet(const Needs& needs) const;

 private:
  static void Add(const Offer& offer, std::vector<Offer>& offers);
  bool Declared(const Needs& needs) const;

  DeclaredAbilities declared_;
  // Of different classes or kernels; of the same ones, that with the most memory.
  std::vector<Offer> ours_;
  std::vector<Offer> earlier_;
};

}  // namespace mlc::server::fleet
