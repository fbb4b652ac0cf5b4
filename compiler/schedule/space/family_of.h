// A family whose problem is a value of type P, which Find derives from a workload once. The
// functions below receive it. Stateless, thread-safe.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "compiler/schedule/space/family.h"

namespace mlc::schedule {

template <typename P>
class FamilyOf : public Family {
 public:
  std::unique_ptr<const Problem> Open(const graph::Workload& workload,
                                      const target::Target& target) const final {
    std::optional<P> problem = Find(workload, target);
    if (!problem) return nullptr;
    return std::make_unique<Opened>(*this, workload, target, *std::move(problem));
  }

 protected:
  virtual std::optional<P> Find(const graph::Workload& workload,
                                const target::Target& target) const = 0;
  virtual Space MakeSpace(const graph::Workload& workload, const P& problem,
                          const target::Target& target) const = 0;
  virtual RejectReason Check(const graph::Workload& workload, const P& problem,
                             const target::Target& target, const Config& config) const = 0;
  virtual KernelFacts Facts(const graph::Workload& workload, const P& problem,
                            const target::Target& target, const Config& config) const = 0;
  virtual Config Default(const graph::Workload& workload, const P& problem,
                         const target::Target& target) const = 0;
  virtual Config DefaultIn(const graph::Workload& workload, const P& problem,
                           const target::Target& target, const Space&) const {
    return Default(workload, problem, target);
  }
  virtual Result<LoweredKernel> Lower(const graph::Workload& workload, const P& problem,
                                      const target::Target& target, const Config& config) const = 0;
  virtual Result<LoweredKernel> LowerForRows(const graph::Workload& workload, const P& problem,
                                             const target::Target& target,
                                             const Config& config) const {
    return Lower(workload, problem, target, config);
  }

 private:
  class Opened final : public Problem {
   public:
    Opened(const FamilyOf& family, const graph::Workload& workload, const target::Target& target,
           P problem)
        : family_(family), workload_(workload), target_(target), problem_(std::move(problem)) {}
    Space MakeSpace() const override { return family_.MakeSpace(workload_, problem_, target_); }
    RejectReason Check(const Config& config) const override {
      return family_.Check(workload_, problem_, target_, config);
    }
    KernelFacts Facts(const Config& config) const override {
      return family_.Facts(workload_, problem_, target_, config);
    }
    Config Default() const override { return family_.Default(workload_, problem_, target_); }
    Config DefaultIn(const Space& part) const override {
      return family_.DefaultIn(workload_, problem_, target_, part);
    }
    Result<LoweredKernel> Lower(const Config& config) const override {
      return family_.Lower(workload_, problem_, target_, config);
    }
    Result<LoweredKernel> LowerForRows(const Config& config) const override {
      return family_.LowerForRows(workload_, problem_, target_, config);
    }

   private:
    const FamilyOf& family_;
    const graph::Workload& workload_;
    const target::Target& target_;
    const P problem_;
  };
};

}  // namespace mlc::schedule
