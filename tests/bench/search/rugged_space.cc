#include "tests/bench/search/rugged_space.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <utility>

#include "base/rng.h"

namespace mlc::bench {
namespace {

using server::Point;

constexpr size_t kMostPoints = 24000;  // of a grid
constexpr size_t kTimings = 16;
constexpr double kScatter = 0.01;  // of a timing

double Normal(Rng& rng) {
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += rng.Uniform();
  return sum;
}

// Values like those of block sizes, tiles and switches.
std::vector<double> DrawDomain(Rng& rng) {
  std::vector<double> domain;
  switch (rng.Below(4)) {
    case 0:
      for (uint64_t i = 0, count = 3 + rng.Below(4); i < count; ++i) domain.push_back(1 << i);
      break;
    case 1:
      for (uint64_t i = 1, count = 3 + rng.Below(6); i <= count; ++i) domain.push_back(i);
      break;
    case 2:
      for (uint64_t i = 1, count = 6 + rng.Below(10); i <= count; ++i) domain.push_back(16 * i);
      break;
    default:
      domain = {0, 1};
  }
  return domain;
}

RecordedSpace::Domains DrawDomains(Rng& rng) {
  RecordedSpace::Domains domains;
  size_t points = 1;
  const size_t knobs = 5 + rng.Below(4);
  while (domains.size() < knobs || points < 1500) {
    std::vector<double> domain = DrawDomain(rng);
    if (points * domain.size() > kMostPoints) break;
    points *= domain.size();
    domains.push_back(std::move(domain));
  }
  return domains;
}

// A table over some knobs that adds to log time.
struct Effect {
  std::vector<size_t> knobs;
  std::vector<double> table;
  size_t Place(const Point& point, const RecordedSpace::Domains& domains) const {
    size_t place = 0;
    for (const size_t k : knobs) place = place * domains[k].size() + point[k];
    return place;
  }
};

// One knob alone: a slope, a valley, and a toll on values that are not even.
Effect DrawMain(size_t knob, const RecordedSpace::Domains& domains, double scale, Rng& rng) {
  Effect effect{{knob}, {}};
  const auto size = static_cast<double>(domains[knob].size());
  const double slope = Normal(rng), valley = rng.Uniform(), depth = rng.Uniform(),
               toll = rng.Below(2) == 0 ? rng.Uniform() : 0;
  for (size_t i = 0; i < domains[knob].size(); ++i) {
    const double x = size > 1 ? static_cast<double>(i) / (size - 1) : 0;
    const bool is_even = std::fmod(domains[knob][i], 32) == 0 || domains[knob][i] < 8;
    effect.table.push_back(scale *
                           (slope * x + 2 * depth * std::abs(x - valley) + (is_even ? 0 : toll)));
  }
  return effect;
}

// Two knobs together, in steps: within a step there is a plateau.
Effect DrawPair(size_t a, size_t b, const RecordedSpace::Domains& domains, double scale, Rng& rng) {
  Effect effect{{a, b}, {}};
  const size_t step_a = 1 + rng.Below(2), step_b = 1 + rng.Below(3);
  const size_t width = (domains[b].size() + step_b - 1) / step_b;
  std::vector<double> cells;
  for (size_t i = 0; i < (domains[a].size() + step_a - 1) / step_a * width; ++i) {
    cells.push_back(scale * Normal(rng));
  }
  for (size_t i = 0; i < domains[a].size(); ++i) {
    for (size_t j = 0; j < domains[b].size(); ++j) {
      effect.table.push_back(cells[i / step_a * width + j / step_b]);
    }
  }
  return effect;
}

// Three knobs that are fast or slow together only where all three fit.
Effect DrawTriple(const std::vector<size_t>& knobs, const RecordedSpace::Domains& domains,
                  double scale, Rng& rng) {
  Effect effect{knobs, {}};
  size_t cells = 1;
  for (const size_t k : knobs) cells *= domains[k].size();
  for (size_t i = 0; i < cells; ++i) {
    effect.table.push_back(rng.Below(8) == 0 ? 2 * scale * Normal(rng) : 0);
  }
  return effect;
}

// Different ones, in order.
std::vector<size_t> DrawKnobs(size_t knobs, size_t count, Rng& rng) {
  std::set<size_t> drawn;
  while (drawn.size() < count) drawn.insert(rng.Below(knobs));
  return {drawn.begin(), drawn.end()};
}

struct Effects {
  std::vector<Effect> mains;
  std::vector<Effect> together;
};

Effects DrawEffects(const RecordedSpace::Domains& domains, double scale, Rng rng) {
  Effects effects;
  for (size_t k = 0; k < domains.size(); ++k) {
    effects.mains.push_back(DrawMain(k, domains, scale, rng));
  }
  const size_t pairs = 2 + rng.Below(domains.size());
  for (size_t i = 0; i < pairs; ++i) {
    const std::vector<size_t> two = DrawKnobs(domains.size(), 2, rng);
    effects.together.push_back(DrawPair(two[0], two[1], domains, scale, rng));
  }
  for (size_t i = 0; i < 2; ++i) {
    const std::vector<size_t> three = DrawKnobs(domains.size(), 3, rng);
    effects.together.push_back(DrawTriple(three, domains, scale, rng));
  }
  return effects;
}

double SumOf(const std::vector<Effect>& effects, const Point& point,
             const RecordedSpace::Domains& domains) {
  double sum = 0;
  for (const Effect& effect : effects) sum += effect.table[effect.Place(point, domains)];
  return sum;
}

// Points whose summed, weighed places exceed a limit: restrictions and failures.
struct Region {
  std::vector<double> weights;
  double limit = 0;
  bool Holds(const Point& point, const RecordedSpace::Domains& domains) const {
    double sum = 0;
    for (size_t k = 0; k < point.size(); ++k) {
      sum += weights[k] * point[k] / static_cast<double>(domains[k].size());
    }
    return sum > limit;
  }
};

// Reaches into the sum of the weights by `share`, from its end.
Region DrawRegion(size_t knobs, double share, Rng rng) {
  Region region;
  double all = 0;
  for (size_t k = 0; k < knobs; ++k) {
    region.weights.push_back(rng.Below(2) == 0 ? 0 : rng.Uniform());
    all += region.weights.back();
  }
  region.limit = all > 0 ? (1 - share) * all : 1;
  return region;
}

// One step of counting through the grid; false after its last point.
bool Advance(Point& point, const RecordedSpace::Domains& domains) {
  for (size_t k = point.size(); k-- > 0;) {
    if (++point[k] < domains[k].size()) return true;
    point[k] = 0;
  }
  return false;
}

std::vector<float> DrawTimings(Rng& rng) {
  std::vector<float> timings;
  for (size_t i = 0; i < kTimings; ++i) {
    timings.push_back(static_cast<float>(1 + kScatter * Normal(rng)));
  }
  return timings;
}

}  // namespace

SpaceRef MakeRuggedSpace(uint64_t problem, uint64_t device) {
  Rng root(problem * 1000 + 17);
  const bool misleads = problem % 3 == 2;
  Rng draw = root.Split(1);
  const RecordedSpace::Domains domains = DrawDomains(draw);
  const double scale = 0.1 + 0.4 * draw.Uniform();
  const Effects shared = DrawEffects(domains, scale, root.Split(2));
  const Effects own = DrawEffects(domains, scale, root.Split(100 + device));
  const double agreement = misleads ? 0.5 : 0.85;
  const Region restricted = DrawRegion(domains.size(), 0.5, root.Split(3));
  const Region failing = DrawRegion(domains.size(), 0.35, root.Split(200 + device));
  const double peak = std::exp(Normal(draw));
  Rng noise = root.Split(300 + device);
  RecordedSpace::Rows rows;
  Point point(domains.size());
  do {
    if (restricted.Holds(point, domains)) continue;
    RecordedSpace::Row& row = rows[point];
    const double mains = agreement * SumOf(shared.mains, point, domains) +
                         (1 - agreement) * SumOf(own.mains, point, domains);
    const double together = agreement * SumOf(shared.together, point, domains) +
                            (1 - agreement) * SumOf(own.together, point, domains);
    // Of every other problem an analytic model knows part of what single knobs do.
    const double known = problem % 2 == 0 ? 0.4 * SumOf(shared.mains, point, domains) : 0;
    row.estimate_ns = 1e6 * peak * std::exp(known);
    const bool fails = failing.Holds(point, domains) && point != Point(domains.size());
    row.ns = fails ? 0 : 1e6 * peak * std::exp(mains + together);
    if (!fails) row.timing = DrawTimings(noise);
  } while (Advance(point, domains));
  return std::make_shared<RecordedSpace>("rugged" + std::to_string(problem),
                                         "device" + std::to_string(device), domains,
                                         std::move(rows));
}

}  // namespace mlc::bench
