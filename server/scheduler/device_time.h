// Charges device time to the jobs that use it. While a worker holds N trials, time passes on N of
// its devices (on all of them if it has fewer). A result costs the device time that the worker
// reports, but at most the time that passed on all its devices since the lease. If the worker
// reports none, the time since the last payment is divided equally among the results since then.
// Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "server/scheduler/fair_shares.h"
#include "server/scheduler/lease_state.h"
#include "server/scheduler/lease_types.h"

namespace mlc::server {

// Call it for each call of a worker. If a payment is due, it pays for the results since the last
// payment and appends to `paid`. REQUIRES: `worker` is in the state of its last call.
void PayForDevices(lease_state::Worker& worker, int64_t now_ms, FairShares& shares,
                   std::vector<LeasePayment>& paid);

}  // namespace mlc::server
