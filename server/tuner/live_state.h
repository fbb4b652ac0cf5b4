// What happens on a server at this moment, for people who look on: what each worker does, and who
// waits for workers. Plain values.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "server/scheduler/fair_shares.h"

namespace mlc::server {

// A trial that a worker holds.
struct HeldTrial {
  std::string job;  // id; empty for one that tests workers
  std::string model;
  int task = 0;  // of the job, from 0
  int64_t held_ms = 0;
};

struct WorkerActivity {
  std::vector<HeldTrial> held;  // the oldest first; the first few
  double clock_mhz = 0;         // of its device, in its last result; 0: not reported
  double use = -1;  // part of the time of trials in which its devices computed; -1: not reported
};

struct WaitingJob {
  std::string job;
  std::string model;
  std::string owner;
  int priority = 0;
  int64_t queued = 0;
  int64_t leased = 0;
};

// A class of targets.
struct ClassQueue {
  std::string target_class;
  std::vector<WaitingJob> jobs;  // whose turn it is first
  std::vector<FairShares::Share> users;
};

struct LiveState {
  std::map<std::string, WorkerActivity> workers;  // by name
  std::vector<ClassQueue> queues;                 // by class
};

}  // namespace mlc::server
