// Decides whose trial comes next: weighted fair queueing over users, then over the jobs of a user.
// A pure state machine without clock or I/O; not thread-safe.
//
// Each target class is shared on its own. Users that wait for a class get device time in proportion
// to their weights, however many jobs each has: the next trial goes to the user with the least time
// over weight. The cost of a trial is known when its result arrives. Until then, it is charged the
// usual cost of the job's trials or, without any, of the class's trials. A user gains no credit
// while it does not wait. Priorities order the jobs of one user: a job of higher priority goes
// first, jobs of equal priority take turns, and other users lose nothing. Within a job, trials go
// in the order of proposal, because a search learns whole batches.
//
// Bound (held by tests): if two users wait and each trial costs its expected time, their device
// time over weight differs by at most one trial over weight of the one plus one of the other. The
// error of the expected cost of trials in progress comes on top.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/digest.h"

namespace mlc::server {

class FairShares {
 public:
  struct Place {
    std::string user;
    int priority = 0;
  };

  // Sets the user and priority of a job. A job without a place counts as a user of its own. The
  // time that the job has had stays counted.
  void Set(const Digest& job_id, Place place);
  // Sets the weight of a user, relative to others (default: 1). REQUIRES: weight > 0.
  void SetWeight(const std::string& user, double weight);
  // Forgets a job that no longer waits. Also forgets a user without jobs once its lead is used up
  // or if there are too many such users, and a class without jobs if there are many classes.
  void Remove(const Digest& job_id);
  // The number of stored jobs, users, weights and classes.
  int64_t size() const;

  // Sets whether the job has trials that wait for workers of the class.
  void SetWaiting(const std::string& target_class, const Digest& job_id, bool waiting);
  // The jobs that wait for the class, in the order of their turns.
  std::vector<Digest> Order(const std::string& target_class) const;
  // The device time that a user has had of a class, for display.
  struct Share {
    std::string user;
    double had_s = 0;  // device seconds over weight; only differences between users count
    double weight = 1;
    int waiting = 0;  // jobs
  };
  std::map<std::string, std::vector<Share>> SharesByClass() const;
  // A worker of the class leased one of the job's trials. Returns its provisional charge, which
  // Settle takes.
  double Charge(const std::string& target_class, const Digest& job_id);
  // Replaces the provisional charge `charged` of a trial by its cost of `seconds` of a device.
  void Settle(const std::string& target_class, const Digest& job_id, double charged,
              double seconds);

 private:
  struct Level {
    double now = 0;  // as of a class, between the jobs of one priority
    std::set<Digest> waiting;
  };
  struct User {
    double had = 0;  // seconds over weight, never behind the others when it begins to wait
    int waiting = 0;
    std::map<Digest, double> jobs_had;
    std::map<int, Level, std::greater<>> levels;  // by priority, the highest first
  };
  struct Class {
    double now = 0;    // least `had` of those that wait; falls only when trials took less
    double usual = 0;  // seconds of a trial; 0: unknown
    std::map<Digest, double> usual_of;
    std::map<std::string, User> users;
    std::set<std::string> waiting;
  };

  void SetPlace(const Digest& job_id, const Place& place);
  void DropPlace(const Digest& job_id);
  bool IsIdle(const User& user) const;
  void Prune(Class& shared) const;
  static double UsualOf(const Class& shared, const Digest& job_id);
  Place PlaceOf(const Digest& job_id) const;
  double WeightOf(const std::string& user) const;
  static void Advance(Class& shared);
  static void Advance(const User& user, Level& level);
  void Join(Class& shared, const Digest& job_id, const Place& place);
  void Leave(Class& shared, const Digest& job_id, const Place& place);

  std::map<Digest, Place> places_;
  std::map<std::string, int64_t> jobs_of_;  // by user: how many of places_
  std::map<std::string, double> weights_;
  std::map<std::string, Class> classes_;
};

}  // namespace mlc::server
