// The tuning log in memory: what tests and dry runs use. Same contract as the file, but for
// durability.
#pragma once

#include <memory>

#include "db/tuning_log.h"

namespace mlc::db {

std::unique_ptr<TuningLog> MakeMemoryLog();

}  // namespace mlc::db
