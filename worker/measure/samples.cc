#include "worker/measure/samples.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/quantile.h"

namespace mlc::worker {
namespace {

// Samples between two probes of the machine.
struct Slice {
  std::vector<double> samples;  // without an interruption; sorted
  double median = 0;            // of them
  double machine_speed = 1;     // the lower probe
};

class Sampler {
 public:
  Sampler(const std::function<void()>& run, double estimate, const TimingOptions& options,
          const Stopwatch& watch, QuietMachineGate& gate)
      : run_(run), options_(options), watch_(watch), gate_(gate) {
    repeats_ = static_cast<int64_t>(std::max(1.0, std::ceil(options.sample_ns / estimate)));
    const double affordable = options.budget_ns / (static_cast<double>(repeats_) * estimate);
    // Kernels that take seconds are never close to the best.
    const int least = estimate > options.budget_ns * 5 ? 3 : options.min_samples;
    wanted_ = static_cast<int>(std::clamp(affordable, static_cast<double>(least),
                                          static_cast<double>(options.max_samples)));
  }

  Samples Take() {
    double before = gate_.WaitUntilQuiet();
    int64_t spent_ns = 0;
    while (good_ < wanted_ && MayContinue(spent_ns)) {
      const int64_t start = watch_.now_ns();
      Slice slice = TakeSlice();
      spent_ns = watch_.now_ns() - start;
      const double after = gate_.Probe();
      slice.machine_speed = std::min(before, after);
      // Time that a quiet machine would have taken, too, is not lost.
      if (taken_ <= wanted_) {
        gate_.AddTimed(spent_ns);
      } else {
        gate_.AddLost(spent_ns);
      }
      lowest_speed_ = std::min(lowest_speed_, slice.machine_speed);
      if (!slice.samples.empty()) {
        std::sort(slice.samples.begin(), slice.samples.end());
        slice.median = Quantile(slice.samples, 0.5);
        slices_.push_back(std::move(slice));
      }
      CountGood();
      before = QuietMachineGate::IsQuiet(after) ? after : gate_.WaitUntilQuiet();
    }
    return Choose();
  }

 private:
  // Interrupted samples are replaced, as many as are wanted; disturbed ones as long as time may be
  // lost.
  bool MayContinue(int64_t slice_ns) const {
    if (taken_ < wanted_) return true;
    const bool disturbed = taken_ - interrupted_ > good_;
    if (disturbed) return taken_ < kMaxAttempts * wanted_ && gate_.CanAfford(slice_ns);
    return taken_ < 2 * wanted_;
  }

  Slice TakeSlice() {
    Slice slice;
    const int64_t start = watch_.now_ns();
    int count = 0;
    do {
      const int64_t before = watch_.preemptions();
      const double sample = TimeRuns(run_, repeats_, watch_);
      all_.push_back(sample);
      ++taken_;
      ++count;
      if (watch_.preemptions() == before) {
        slice.samples.push_back(sample);
      } else {
        ++interrupted_;
      }
    } while (good_ + count < wanted_ &&
             static_cast<double>(watch_.now_ns() - start) < options_.slice_ns);
    return slice;
  }

  // Contention that the probes do not show, as of memory bandwidth, shows where slices disagree.
  bool IsGood(const Slice& slice) const {
    return QuietMachineGate::IsQuiet(slice.machine_speed) &&
           slice.median <= options_.slices_agree * fastest_;
  }

  void CountGood() {
    fastest_ = std::numeric_limits<double>::infinity();
    for (const Slice& slice : slices_) {
      if (QuietMachineGate::IsQuiet(slice.machine_speed))
        fastest_ = std::min(fastest_, slice.median);
    }
    good_ = 0;
    for (const Slice& slice : slices_) {
      if (IsGood(slice)) good_ += static_cast<int>(slice.samples.size());
    }
  }

  template <typename Wanted>
  Samples Gather(Wanted wanted) const {
    Samples chosen;
    for (const Slice& slice : slices_) {
      if (!wanted(slice)) continue;
      chosen.sorted.insert(chosen.sorted.end(), slice.samples.begin(), slice.samples.end());
      chosen.machine_speed = std::min(chosen.machine_speed, slice.machine_speed);
    }
    std::sort(chosen.sorted.begin(), chosen.sorted.end());
    return chosen;
  }

  Samples Choose() const {
    if (good_ >= std::min(wanted_, kMinGood)) {
      return Gather([&](const Slice& slice) { return IsGood(slice); });
    }
    double best_speed = 0;
    for (const Slice& slice : slices_) best_speed = std::max(best_speed, slice.machine_speed);
    Samples chosen =
        Gather([&](const Slice& slice) { return slice.machine_speed >= best_speed - kSameSpeed; });
    if (2 * chosen.sorted.size() >= static_cast<size_t>(wanted_)) return chosen;
    chosen = {all_, lowest_speed_};
    std::sort(chosen.sorted.begin(), chosen.sorted.end());
    return chosen;
  }

  static constexpr int kMaxAttempts = 8;
  static constexpr int kMinGood = 3;
  static constexpr double kSameSpeed = 0.05;

  const std::function<void()>& run_;
  const TimingOptions& options_;
  const Stopwatch& watch_;
  QuietMachineGate& gate_;
  int64_t repeats_ = 1;
  int wanted_ = 0;
  int taken_ = 0;
  int interrupted_ = 0;
  double lowest_speed_ = 1;  // of all slices
  double fastest_ = 0;       // median of a quiet slice
  int good_ = 0;             // samples of good slices
  std::vector<Slice> slices_;
  std::vector<double> all_;
};

}  // namespace

double TimeRuns(const std::function<void()>& run, int64_t runs, const Stopwatch& watch) {
  const int64_t start = watch.now_ns();
  for (int64_t i = 0; i < runs; ++i) run();
  return static_cast<double>(watch.now_ns() - start) / static_cast<double>(runs);
}

Samples TakeSamples(const std::function<void()>& run, double estimate, const TimingOptions& options,
                    const Stopwatch& watch, QuietMachineGate& gate) {
  return Sampler(run, estimate, options, watch, gate).Take();
}

}  // namespace mlc::worker
