// The tuning log in one SQLite file: write-ahead log, full synchronisation, group commit. At most
// one process of a machine writes the file (base/process/file_lock.h); others may read it at the
// same time. docs/reference/log-schema.md describes the file.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "db/tuning_log.h"

namespace mlc::db {

// Both functions give INVALID_ARGUMENT for an empty path or a folder.
//
// Creates the file if needed, migrates it and takes the writer's lock. `timed` gets the duration of
// each commit in seconds, on a thread of the log.
Result<std::unique_ptr<TuningLog>> OpenSqliteLog(const std::string& path,
                                                 std::function<void(double)> timed = nullptr);

// For tools: reads a log that may be in use, a closed one or a snapshot. Writes through the
// returned log give PERMISSION_DENIED. NOT_FOUND if there is no such file.
Result<std::unique_ptr<TuningLog>> OpenSqliteLogForReading(const std::string& path);

}  // namespace mlc::db
