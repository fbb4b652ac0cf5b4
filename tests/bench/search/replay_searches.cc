// Replays searches on spaces of which every config is known; prints one JSON object for each run:
//   replay_searches SPACES [seeds=30] [first=1] [trials=256] [noise=1]
//                   [scatter=0] [failures=0] [rearranged=0] [goal=0.95]
//                   [methods=cold,warm,...] [only=PROBLEM/DEVICE,...] [constants=NAME:VALUE,...]
// SPACES: a folder of *.json.gz files named KERNEL_DEVICE.json.gz (also of pack_spaces.py), or
// rugged:FIRST:COUNT for made problems of three devices each. Methods:
//   cold, warm     the search of the service, without a log, and with that of the other devices
//   no_estimate    cold, without the analytic model (made spaces only: recorded ones have none)
//   no_trees       cold, without boosted trees
//   random, genetic, descent   simple searches
// rearranged: each seed reverses the order of the values of some knobs and starts from a random
// config: the order in which a space is written down, and its first config, help a search that
// prefers what comes first.
// constants: of the search, in the place of those of server/search/search_constants.h:
// descend_after, restart_after, mistrust_after, descent_reach, tree_depth, tree_columns,
// tree_lambda. Exit codes: 0; 1 for spaces that cannot be read; 2 for a wrong command line.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/bench/arguments.h"
#include "tests/bench/search/kernel_space.h"
#include "tests/bench/search/rugged_space.h"
#include "tests/bench/search/searches.h"

namespace mlc::bench {
namespace {

constexpr uint64_t kRuggedDevices = 3;

struct Options {
  uint64_t seeds = 30, first = 1;
  int trials = 256;
  bool noise = true, rearranged = false;
  double scatter = 0, failures = 0, goal = 0.95;
  std::vector<std::string> methods = {"cold", "warm", "random", "genetic", "descent"};
  std::vector<std::string> only;
  server::SearchConstants constants;
  std::string constants_text, flight_text;
  Flight flight;
};

std::vector<std::string> SplitAt(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, separator);) parts.push_back(part);
  return parts;
}

// Of NAME:VALUE,...; INVALID_ARGUMENT for a name of no number.
Result<Flight> FlightOf(const std::string& text) {
  Flight flight;
  for (const std::string& part : SplitAt(text, ',')) {
    const size_t colon = std::min(part.find(':'), part.size());
    const std::string name = part.substr(0, colon);
    const double value = colon < part.size() ? std::stod(part.substr(colon + 1)) : 0;
    if (name == "batch") {
      flight.batch = static_cast<int>(value);
    } else if (name == "in_flight") {
      flight.in_flight = static_cast<int>(value);
    } else if (name == "first_batch") {
      flight.first_batch = static_cast<int>(value);
    } else if (name == "known_of_batch") {
      flight.known_of_batch = value;
    } else if (name == "builders") {
      flight.builders = static_cast<int>(value);
    } else if (name == "build_s") {
      flight.build_s = value;
    } else if (name == "trial_s") {
      flight.trial_s = value;
    } else {
      return InvalidArgument("no number of trials under way: '" + part + "'");
    }
  }
  return flight;
}

// Of NAME:VALUE,...; INVALID_ARGUMENT for a name of no constant.
Result<server::SearchConstants> ConstantsOf(const std::string& text) {
  server::SearchConstants constants;
  for (const std::string& part : SplitAt(text, ',')) {
    const size_t colon = std::min(part.find(':'), part.size());
    const std::string name = part.substr(0, colon);
    const double value = colon < part.size() ? std::stod(part.substr(colon + 1)) : 0;
    if (name == "descend_after") {
      constants.descend_after = static_cast<int64_t>(value);
    } else if (name == "restart_after") {
      constants.restart_after = static_cast<int64_t>(value);
    } else if (name == "mistrust_after") {
      constants.mistrust_after = static_cast<int64_t>(value);
    } else if (name == "descent_reach") {
      constants.descent_reach = static_cast<int>(value);
    } else if (name == "tree_depth") {
      constants.online_trees.depth = static_cast<int>(value);
    } else if (name == "tree_columns") {
      constants.online_trees.columns = value;
    } else if (name == "tree_lambda") {
      constants.online_trees.lambda = value;
    } else {
      return InvalidArgument("no constant of the search: '" + part + "'");
    }
  }
  return constants;
}

Result<std::vector<SpaceRef>> ReadSpaces(const std::string& name) {
  std::vector<SpaceRef> spaces;
  if (name.starts_with("rugged:")) {
    const std::vector<std::string> parts = SplitAt(name, ':');
    if (parts.size() != 3) return InvalidArgument("not rugged:FIRST:COUNT: '" + name + "'");
    const uint64_t first = std::stoull(parts[1]), count = std::stoull(parts[2]);
    for (uint64_t problem = first; problem < first + count; ++problem) {
      for (uint64_t device = 0; device < kRuggedDevices; ++device) {
        spaces.push_back(MakeRuggedSpace(problem, device));
      }
    }
    return spaces;
  }
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(name)) {
    if (entry.path().string().ends_with(".json.gz")) paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  for (const std::string& path : paths) spaces.push_back(MLC_TRY(ReadSpace(path)));
  return spaces;
}

// False for a name of no method.
bool Run(const std::string& method, const SpaceRef& space, const std::vector<SpaceRef>& others,
         const Options& options, uint64_t seed, Trials& trials) {
  const std::map<std::string, RecordedSpace::Blind> portfolios = {
      {"cold", {}},
      {"warm", {}},
      {"no_estimate", {.estimates = true}},
      {"no_trees", {.features = true}}};
  const auto portfolio = portfolios.find(method);
  if (portfolio != portfolios.end()) {
    RelatedLog log;
    if (method == "warm")
      log = LogOfOthers(others, options.constants, options.trials, options.noise, seed + 1000);
    RunPortfolio(space, {portfolio->second, options.constants, options.flight}, log, options.trials,
                 seed, trials);
  } else if (method == "random") {
    RunRandom(*space, seed, trials);
  } else if (method == "genetic") {
    RunGenetic(*space, seed, trials);
  } else if (method == "descent") {
    RunDescent(*space, seed, trials);
  } else {
    return false;
  }
  return true;
}

int Main(const std::string& name, const Options& options) {
  const auto spaces = ReadSpaces(name);
  if (!spaces.ok()) {
    std::fprintf(stderr, "%s\n", spaces.status().ToString().c_str());
    return 1;
  }
  for (const SpaceRef& space : *spaces) {
    const std::string full = space->problem() + "/" + space->device();
    const auto& only = options.only;
    if (!only.empty() && std::find(only.begin(), only.end(), full) == only.end()) continue;
    std::vector<SpaceRef> others;
    for (const SpaceRef& other : *spaces) {
      if (other->problem() == space->problem() && other != space) others.push_back(other);
    }
    for (const std::string& method : options.methods) {
      for (uint64_t seed = options.first; seed < options.first + options.seeds; ++seed) {
        SpaceRef used = space;
        std::vector<SpaceRef> used_others = others;
        if (options.rearranged) {
          used = space->Rearranged(seed);
          for (SpaceRef& other : used_others) other = other->Rearranged(seed);
        }
        Trials trials(used, options.trials, options.noise, Rng(seed).Split(7));
        trials.Disturb(options.scatter, options.failures);
        if (!Run(method, used, used_others, options, seed, trials)) {
          std::fprintf(stderr, "no method '%s'\n", method.c_str());
          return 2;
        }
        std::cout << nlohmann::json{{"problem", space->problem()},
                                    {"device", space->device()},
                                    {"method", method},
                                    {"constants", options.constants_text},
                                    {"flight", options.flight_text},
                                    {"seed", seed},
                                    {"trials", trials.count()},
                                    {"intervals", trials.intervals()},
                                    {"holding", trials.holding()},
                                    {"reached", trials.Reached(options.goal)},
                                    {"reached_s", trials.SecondsOf(trials.Reached(options.goal))},
                                    {"steps", trials.steps()}}
                  << "\n";
      }
    }
  }
  return 0;
}

Status Set(Options& options, const Argument& argument) {
  const std::string& value = argument.value;
  if (argument.key == "seeds") {
    options.seeds = std::stoull(value);
  } else if (argument.key == "first") {
    options.first = std::stoull(value);
  } else if (argument.key == "trials") {
    options.trials = std::stoi(value);
  } else if (argument.key == "noise") {
    options.noise = value != "0";
  } else if (argument.key == "rearranged") {
    options.rearranged = value != "0";
  } else if (argument.key == "scatter") {
    options.scatter = std::stod(value);
  } else if (argument.key == "goal") {
    options.goal = std::stod(value);
  } else if (argument.key == "failures") {
    options.failures = std::stod(value);
  } else if (argument.key == "methods") {
    options.methods = SplitAt(value, ',');
  } else if (argument.key == "constants") {
    options.constants = MLC_TRY(ConstantsOf(value));
    options.constants_text = value;
  } else if (argument.key == "flight") {
    options.flight = MLC_TRY(FlightOf(value));
    options.flight_text = value;
  } else if (argument.key == "only") {
    options.only = SplitAt(value, ',');
  } else {
    return InvalidArgument("unknown argument '" + argument.word + "'");
  }
  return Status();
}

}  // namespace
}  // namespace mlc::bench

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: replay_searches SPACES [key=value...]\n");
    return 2;
  }
  mlc::bench::Options options;
  for (const mlc::bench::Argument& argument : mlc::bench::Arguments(argc - 1, argv + 1)) {
    const mlc::Status status = mlc::bench::Set(options, argument);
    if (!status.ok()) {
      std::fprintf(stderr, "%s\n", status.ToString().c_str());
      return 2;
    }
  }
  return mlc::bench::Main(argv[1], options);
}
