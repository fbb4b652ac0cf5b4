#include "base/machine/control_groups.h"

#include <fstream>
#include <sstream>

namespace mlc::target {
namespace {

namespace fs = std::filesystem;

bool HasController(const std::string& controllers, const std::string& wanted) {
  std::istringstream names(controllers);
  for (std::string name; std::getline(names, name, ',');) {
    if (name == wanted) return true;
  }
  return false;
}

// The group, and those above it in its tree, from the top.
void AddWay(const fs::path& top, const std::string& group, std::vector<fs::path>& groups) {
  fs::path at = top;
  groups.push_back(at);
  for (const fs::path& part : fs::path(group)) {
    at /= part;
    groups.push_back(at);
  }
}

}  // namespace

// Lines "NUMBER:CONTROLLERS:/GROUP"; the tree of version 2 has number 0 and no controllers, one of
// version 1 is mounted by their names.
std::vector<fs::path> ControlGroups(const fs::path& root, const std::string& controller) {
  const fs::path mounts = root / "sys/fs/cgroup";
  // A container may see its own group as the root of a tree.
  std::vector<fs::path> groups = {mounts};
  std::ifstream file(root / "proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find(':'), second = line.find(":/", first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string group = line.substr(second + 2);
    if (controllers.empty()) AddWay(mounts, group, groups);
    if (HasController(controllers, controller)) AddWay(mounts / controllers, group, groups);
  }
  return groups;
}

}  // namespace mlc::target
