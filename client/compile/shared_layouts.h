// Keeps the weights of a library of several sizes in few layouts. A kernel packs its weights as its
// config says, so the kernels of several sizes, each the best of its own, would each have a copy of
// the weights. Where a config that reads an earlier size's copy is about as fast, it is taken. Use
// it from one thread.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/digest.h"
#include "base/status.h"
#include "client/compile/kernel_source.h"
#include "compiler/graph/program.h"
#include "compiler/package/library.h"
#include "compiler/target/target.h"

namespace mlc::client {

// What a shared layout may cost: of measured times, and of the analytic model's.
inline constexpr double kMostSlowerMeasured = 1.03;
inline constexpr double kMostSlowerEstimated = 1.1;
// For GPUs, whose classes of a range have kernels of their own: of weights with two layouts, for
// many rows and for few.
inline constexpr double kMostSlowerThird = 1.25;

class SharedLayouts {
 public:
  // Borrows both. `source` has the records that measured times come from; null: a measured choice
  // is kept as it is.
  SharedLayouts(const target::Target& target, KernelSource* source)
      : target_(target), source_(source) {}

  // Changes the choices of one size after those of the sizes before. Errors of the source.
  Status Share(const graph::Program& program, std::vector<package::Choice>& choices);

 private:
  // What the kernel of a config packs: the layout of each constant, for all steps of a task.
  struct Packed {
    Digest constant;
    Digest layout;
  };
  // A task, on the target or on the devices that run a substitute.
  struct Place {
    size_t task;
    const target::Target& target;
  };
  std::vector<Packed> PackedBy(const schedule::Config& config, const Place& place) const;
  bool Fits(const schedule::Config& config, const Place& place) const;
  // Configs that may have a layout that is there, as those of earlier sizes.
  std::vector<schedule::Config> Similar(const std::vector<Packed>& packed,
                                        const Place& place) const;
  double MostSlower(const std::vector<Packed>& packed) const;
  // Instead of `config`, the one of the least estimate with layouts that are there.
  std::optional<schedule::Config> Estimated(const schedule::Config& config,
                                            const Place& place) const;
  void Remember(const schedule::Config& config, const Place& place);
  Status ShareTask(size_t task, package::Choice& choice);
  Status ShareSubstitute(size_t task, bool changed, package::Choice& choice);
  Status ShareMeasured(size_t task, package::Choice& choice);
  void ShareEstimated(size_t task, package::Choice& choice) const;

  const target::Target& target_;
  KernelSource* source_;
  std::map<Digest, std::set<Digest>> layouts_;             // by constant
  std::map<Digest, std::vector<schedule::Config>> users_;  // by constant
  const graph::Program* program_ = nullptr;                // of the call
  std::vector<Digest> constants_;                          // its constants' digests
};

}  // namespace mlc::client
