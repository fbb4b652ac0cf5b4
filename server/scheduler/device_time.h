// What the time of workers' devices goes to. Time passes on as many devices of a worker as it holds
// trials for. A result costs what the worker says, within reason: at most what all its devices have
// had since the lease. Where a worker says nothing, the time between two calls goes to the results
// that came, in equal parts. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "server/scheduler/fair_shares.h"
#include "server/scheduler/lease_state.h"
#include "server/scheduler/lease_types.h"

namespace mlc::server {

// The worker calls: its results since the last payment are paid, if that is due. Adds to `paid`.
// REQUIRES: the worker is as of its last call.
void PayForDevices(lease_state::Worker& worker, int64_t now_ms, FairShares& shares,
                   std::vector<LeasePayment>& paid);

}  // namespace mlc::server
