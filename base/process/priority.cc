#include "base/process/priority.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <string>

namespace mlc::worker {

void RaisePriority(int nice) {
  if (setpriority(PRIO_PROCESS, 0, nice) != 0) return;
  // In the parent's session, its builders and the process that started it would be raised as well.
  if (setsid() < 0) return;
  const int group = open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC);
  if (group < 0) return;
  const std::string text = std::to_string(nice);
  (void)!write(group, text.data(), text.size());
  close(group);
}

}  // namespace mlc::worker
