// The workloads that builds wanted and the log had no record of: a list for people and for an idle
// server, in a file beside the log, "LOG.untuned". It is a file of its own so that a build can note
// what it lacked while a server writes the log. It holds no knowledge: deleting it loses nothing
// but the counts. Thread-safe; processes take turns by a lock on the file.
//
// Errors: PERMISSION_DENIED if the file cannot be opened or made, ABORTED if others hold its lock
// for half a second, DATA_LOSS for one that cannot be read.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/digest.h"
#include "base/status.h"

namespace mlc::db {

// Entries beyond it are dropped, those first that were not wanted for the longest time.
inline constexpr size_t kMostUntuned = 1024;

struct UntunedWorkload {
  std::string text;  // canonical workload text
  std::string summary;
  std::string target;    // class text
  int64_t builds = 1;    // that wanted it
  int64_t first_us = 0;  // microseconds since 1970
  int64_t last_us = 0;

  // The digest of the text, and the target: what makes it another one.
  std::pair<Digest, std::string> key() const;
};

std::string UntunedPath(const std::string& log);

// Those wanted by most builds first (ties: the newest, then by key). None without the file. Lines
// that are damaged or of another version are left out.
Result<std::vector<UntunedWorkload>> ReadUntuned(const std::string& log);

// Adds to the counts of those that are listed, and lists the others.
Status NoteUntuned(const std::string& log, std::span<const UntunedWorkload> wanted);

// Removes entries, by their keys.
Status ForgetUntuned(const std::string& log, std::span<const UntunedWorkload> tuned);

}  // namespace mlc::db
