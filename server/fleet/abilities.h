// Which work the workers of a pool can run. Until a worker of the pool has reported its abilities,
// the declaration in the fleet file counts. Pure; not thread-safe.
//
// A report of a worker that this server started is final, because the next worker of the pool would
// be equal. A worker that an earlier server started shows only the target class of the machines.
// Its build may be older, so a new worker may run kernels that this one cannot.
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

  // Records what a worker of the pool offers. `ours`: this server started the worker.
  void Learn(const Offer& offer, bool ours);
  bool Meet(const Needs& needs) const;

 private:
  static void Add(const Offer& offer, std::vector<Offer>& offers);
  bool Declared(const Needs& needs) const;

  DeclaredAbilities declared_;
  // Offers that differ in class or kernels; of offers equal in both, the one with the most memory.
  std::vector<Offer> ours_;
  std::vector<Offer> earlier_;
};

}  // namespace mlc::server::fleet
