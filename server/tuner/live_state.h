// The activity of a server at this moment, for the live page: what each worker runs, and which jobs
// wait for workers. Plain values.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "server/scheduler/fair_shares.h"

namespace mlc::server {

// A trial that a worker holds.
struct HeldTrial {
  std::string job;  // id; empty for a canary or second measurement
  std::string model;
  int task = 0;  // index in the job, from 0
  int64_t held_ms = 0;
};

struct WorkerActivity {
  std::vector<HeldTrial> held;  // the first few, oldest first
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
  std::vector<WaitingJob> jobs;  // in the order of their turns
  std::vector<FairShares::Share> users;
};

struct LiveState {
  std::map<std::string, WorkerActivity> workers;  // by name
  std::vector<ClassQueue> queues;                 // by class
};

}  // namespace mlc::server
