// Whose trial comes next: weighted fair queueing over users, then over a user's jobs. A pure state
// machine without clock or I/O; not thread-safe.
//
// Each class of target is shared for itself. Between users that wait for it, the devices' time is
// in proportion to their weights, however many jobs each has; who has had least for the weight
// comes next. What a trial will take is known when its result is there: until then it counts as
// much as the job's trials usually take, or those of the class. Who did not wait has saved up
// nothing. A user's jobs of a higher priority come before those of a lower one, and equal ones take
// turns: a priority orders one's own jobs and takes nothing from others. Within a job, trials go in
// the order of proposal, because a search learns whole batches.
//
// The bound that tests hold it to: while two users wait, and trials take what they are taken for,
// what they have had over weight differs by at most a trial over weight of the one plus one of the
// other. Trials under way add the error of what they are taken for.
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

  // Where a job belongs; until told, it is a user of its own. What it has had stays counted.
  void Set(const Digest& job_id, Place place);
  // The part of a user, relative to others; 1 until set. REQUIRES: weight > 0.
  void SetWeight(const std::string& user, double weight);
  // Forgets the job, which does not wait any more; a user without jobs whose lead is used up,
  // or who is one of too many such users; and a class without jobs, if there are many classes.
  void Remove(const Digest& job_id);
  // Jobs, users, weights and classes that it knows.
  int64_t size() const;

  // Whether the job has trials that wait for workers of the class.
  void SetWaiting(const std::string& target_class, const Digest& job_id, bool waiting);
  // The jobs that wait for the class, whose turn it is first.
  std::vector<Digest> Order(const std::string& target_class) const;
  // What a user has had of a class, for people.
  struct Share {
    std::string user;
    double had_s = 0;  // seconds of devices over weight, ahead of nobody at 0
    double weight = 1;
    int waiting = 0;  // jobs
  };
  std::map<std::string, std::vector<Share>> SharesByClass() const;
  // A worker of the class took one of the job's trials. Returns what that counts for now.
  double Charge(const std::string& target_class, const Digest& job_id);
  // A trial that counted for `charged` took so many seconds of a device.
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
