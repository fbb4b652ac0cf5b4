// Notes what a build wanted and its log lacks, for mlc-log untuned and idle servers
// (db/untuned/untuned_list.h). Thread-safe.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/graph/program.h"
#include "compiler/package/library.h"
#include "compiler/target/target.h"

namespace mlc::client {

// Lists the program's tasks whose choice is no measured one. Leaves published snapshots alone, and
// logs that this user cannot write. Errors of NoteUntuned; a build goes on without the note.
Status NoteUntunedTasks(const std::string& log, const graph::Program& program,
                        const std::vector<package::Choice>& choices, const target::Target& target);

}  // namespace mlc::client
