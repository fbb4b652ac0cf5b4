#include "client/compile/server_best.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/wire/protocol.h"
#include "compiler/schedule/cuda/user_kernel/user_kernel.h"
#include "compiler/schedule/space/family.h"

namespace mlc::client {
namespace {

// This build generates almost every config of its families; the rest makes up for exceptions.
constexpr int kCandidates = 8;

Result<KnownKernel> ToKnown(const proto::BestConfig& best) {
  const std::optional<Digest> record = server::DigestFromWire(best.record());
  if (!record) return Internal("the server's answer has a record id that is not 16 bytes long");
  return KnownKernel{best.config(), *record, best.measurement().median_ns()};
}

struct Near {
  costmodel::SimilarWorkload similar;
  std::vector<Digest> records;
};

struct Answer {
  std::vector<KnownKernel> best;
  std::vector<int> near;
};

// Nothing for a workload or config of a form unknown here: a server's family of another version is
// no similar workload that this build could use.
Result<std::optional<Near>> ReadNear(const proto::SimilarWorkload& wire) {
  Result<graph::Workload> workload = graph::Workload::Parse(wire.workload());
  if (!workload.ok()) return std::optional<Near>();
  Near near{{*std::move(workload), {}, wire.default_ns()}, {}};
  for (const proto::BestConfig& best : wire.best()) {
    Result<schedule::Config> config = schedule::Config::Parse(best.config());
    if (!config.ok()) continue;
    const KnownKernel known = MLC_TRY(ToKnown(best));
    near.similar.best.push_back({*std::move(config), known.median_ns});
    near.records.push_back(known.record);
  }
  return std::optional(std::move(near));
}

class ServerSource : public KernelSource {
 public:
  Result<std::optional<KnownKernel>> Best(const graph::Workload& workload,
                                          const Accept& accept) override {
    const std::vector<KnownKernel>& best = answers_.at(workload.digest()).best;
    const auto found = std::find_if(best.begin(), best.end(),
                                    [&](const KnownKernel& known) { return accept(known.config); });
    return found == best.end() ? std::optional<KnownKernel>() : std::optional(*found);
  }
  Result<std::vector<KnownSimilar>> Near(const graph::Workload& workload) override {
    std::vector<KnownSimilar> near;
    for (const int place : answers_.at(workload.digest()).near) {
      const std::optional<client::Near>& known = near_[static_cast<size_t>(place)];
      if (known) near.push_back({&known->similar, &known->records});
    }
    return near;
  }

  Status Read(const graph::Program& program, const proto::BestReply& reply) {
    if (reply.best_size() != static_cast<int>(program.tasks.size())) {
      return Internal("the server answered " + std::to_string(reply.best_size()) + " of " +
                      std::to_string(program.tasks.size()) + " tasks");
    }
    for (const proto::SimilarWorkload& wire : reply.similar_workloads())
      near_.push_back(MLC_TRY(ReadNear(wire)));
    for (int i = 0; i < reply.best_size(); ++i) {
      Answer& answer = answers_[program.tasks[static_cast<size_t>(i)].workload.digest()];
      MLC_TRY(ReadAnswer(reply.best(i), answer));
    }
    return Status();
  }

 private:
  Status ReadAnswer(const proto::BestConfig& wire, Answer& answer) const {
    answer = {};
    if (!wire.config().empty()) answer.best.push_back(MLC_TRY(ToKnown(wire)));
    for (const proto::BestConfig& other : wire.others()) {
      answer.best.push_back(MLC_TRY(ToKnown(other)));
    }
    for (const int place : wire.similar_workloads()) {
      if (place < 0 || place >= static_cast<int>(near_.size())) {
        return Internal(
            "the server's answer refers to a similar workload that it does not contain");
      }
      answer.near.push_back(place);
    }
    return Status();
  }

  std::map<Digest, Answer> answers_;
  std::vector<std::optional<client::Near>> near_;
};

}  // namespace

proto::BestRequest BestRequestOf(const graph::Program& program, const target::Target& target,
                                 Transfer transfer, UserKernels user_kernels) {
  proto::BestRequest request;
  request.set_target(target.ClassText());
  request.set_candidates(kCandidates);
  for (const schedule::Family* family : schedule::Families()) {
    request.add_kernels(std::string(family->name()) + "/" + std::to_string(family->version()));
  }
  if (user_kernels == UserKernels::kUse) {
    for (const std::string& name : schedule::UserKernelNames()) request.add_kernels(name);
  }
  for (const graph::Task& task : program.tasks) {
    request.add_workloads(task.workload.digest().ToText());
    if (transfer == Transfer::kUse) request.add_texts(task.workload.ToText());
  }
  return request;
}

Result<std::unique_ptr<KernelSource>> MakeServerSource(const graph::Program& program,
                                                       const proto::BestReply& reply) {
  auto source = std::make_unique<ServerSource>();
  MLC_TRY(source->Read(program, reply));
  return std::unique_ptr<KernelSource>(std::move(source));
}

}  // namespace mlc::client
