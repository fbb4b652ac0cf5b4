#include "client/compile/untuned_tasks.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/clock.h"
#include "client/compile/choose_kernels.h"
#include "db/sqlite/sqlite.h"
#include "db/untuned/untuned_list.h"

namespace mlc::client {

Status NoteUntunedTasks(const std::string& log, const graph::Program& program,
                        const std::vector<package::Choice>& choices, const target::Target& target) {
  if (db::IsPublished(log) || faccessat(AT_FDCWD, log.c_str(), W_OK, AT_EACCESS) != 0) return {};
  const int64_t now = SystemClock().WallUs();
  std::vector<db::UntunedWorkload> wanted;
  for (size_t i = 0; i < choices.size(); ++i) {
    if (IsTuned(choices[i])) continue;
    const graph::Workload& workload = program.tasks[i].workload;
    wanted.push_back({workload.ToText(), workload.Summary(), target.ClassText(), 1, now, now});
  }
  return db::NoteUntuned(log, wanted);
}

}  // namespace mlc::client
