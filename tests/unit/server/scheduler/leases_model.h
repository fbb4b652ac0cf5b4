// A second, naive model of the leases: what the state machine of server/scheduler/leases.h must do,
// in lists and loops, with none of its indices. It grants nothing by itself; it says what may be
// granted. Not thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "server/scheduler/leases.h"

namespace mlc::server {

class LeasesModel {
 public:
  enum class At { kQueued, kLeased, kReceived, kDone, kQuarantined, kDropped };

  struct Trial {
    Leases::Ask ask;
    At at = At::kQueued;
    std::string holder;
    bool seen = false;  // the holder has named it
    int attempts = 0;
    int strays = 0;              // leases whose reply did not reach the holder
    std::set<std::string> lost;  // workers that went away with it
    int64_t leased = 0;          // when the holder got it
    bool charged = false;        // somebody pays for it
  };

  struct Worker {
    std::string incarnation;
    std::vector<std::string> old_incarnations;
    uint64_t sequence = 0;
    Offer offer;
    int64_t deadline = 0;
    bool alive = false;
    bool eligible = false;
    // Since the last payment: which results came, and between which calls it held how many trials.
    struct Result {
      Digest job_id;
      bool charged = false;
      int64_t leased = 0;
      std::optional<double> reported_s;
    };
    struct Stretch {
      int64_t from = 0, to = 0;
      int64_t held = 0;
    };
    std::vector<Result> results;
    std::vector<Stretch> stretches;
    int64_t called = 0;
    int64_t held = 0;
    int64_t paid = 0;
  };

  explicit LeasesModel(LeaseTerms terms) : terms_(terms) {}

  static bool Live(const Trial& trial);

  // False if the trial is refused.
  bool Add(const Leases::Ask& ask);
  // What the call does before any grant, with `paid` for the results before it. False if it is
  // stale.
  bool Contact(const Leases::Contact& contact, int64_t now, std::set<Digest>& cancelled);
  // Whether the worker, which has just called, may be granted the trial.
  bool MayHave(const Trial& trial, const std::string& name, bool trusted, int64_t now);

  // The trial is leased to the worker, which is calling.
  void Hold(Trial& trial, const std::string& name);
  // Whether one of the job's queued trials is for anyone, and nobody can run it.
  bool Stuck(const Digest& job_id) const;
  // The job's trials that wait for anyone, and those that workers have.
  Leases::Load LoadOf(const Digest& job_id) const;
  // The call has been answered.
  void Answered(const std::string& name);
  // A result of a trial that is queued or leased.
  void Receive(Trial& trial, std::optional<double> reported_s);
  // An attempt that came to nothing: again, or no more.
  void Fail(const Digest& uid, Trial& trial);
  // Workers past their deadline are gone, and what they held with them.
  void Expire(int64_t now);

  // Trials that are there, those that Sweep() forgot included.
  int64_t Count(At at) const;
  // Ended trials are counted and dropped, so that the loops stay short.
  void Sweep();

  std::map<Digest, Trial> trials;
  std::map<std::string, Worker> workers;
  std::set<Digest> ended;  // by failure, since the owner last cleared it
  std::vector<LeasePayment> paid;

 private:
  // False if the call is stale; else notes it and says whether the worker's process is new.
  static bool Renew(Worker& worker, const Leases::Contact& contact, bool& restarted);
  void Pay(Worker& worker, int64_t now, int64_t leases);
  int64_t HeldBy(const std::string& name) const;
  // Leases of the worker that it does not hold.
  void TakeBack(const std::string& name, const std::set<Digest>& holding, bool restarted);
  // Whether a queued trial that the worker says it holds becomes its lease.
  bool Adopts(const Trial& trial, const std::string& name, bool quarantined);
  // The worker went away with the trial.
  void Lose(const Digest& uid, Trial& trial, const std::string& name);

  LeaseTerms terms_;
  std::vector<At> ended_again_;  // trials whose place another of the same name took
  std::array<int64_t, 6> forgotten_{};
};

}  // namespace mlc::server
