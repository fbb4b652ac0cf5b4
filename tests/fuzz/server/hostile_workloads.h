// Texts of workloads that ask for much, or for what nobody thought of. They parse or do not; what
// matters is that whoever reads them lives.
#pragma once

#include <string>
#include <vector>

namespace mlc::server {

// A chain of `steps` values, each of which `line` makes from the one before it: "@" stands for that
// value, "$" for its type. `first` is the type of the input; `last`, if given, follows the chain.
std::string Chain(int steps, const std::string& first, const std::string& line,
                  const std::string& last = "");

struct Hostile {
  std::string name;
  std::string text;
};
// Deep, wide, exploding, huge and empty ones.
std::vector<Hostile> HostileWorkloads();
// Every scalar operator on every type, and every other operator in small and odd shapes.
std::vector<Hostile> OddWorkloads();

}  // namespace mlc::server
