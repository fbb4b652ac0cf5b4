#include "server/fleet/worker_command.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/check.h"

namespace mlc::server::fleet {
namespace {

std::string WorkerProgram() {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? "mlc-worker" : (self.parent_path() / "mlc-worker").string();
}

}  // namespace

const PoolConfig& PoolOf(const FleetConfig& config, const std::string& pool) {
  const auto found = std::ranges::find_if(
      config.pools, [&](const PoolConfig& entry) { return entry.terms.name == pool; });
  MLC_CHECK(found != config.pools.end());
  return *found;
}

std::vector<std::string> WorkerCommand(const FleetConfig& config, const std::string& pool,
                                       const std::string& server, const std::string& name) {
  std::vector<std::string> words = PoolOf(config, pool).worker;
  if (words.empty()) words = {WorkerProgram()};
  words.insert(words.end(), {"--server", server, "--name", name});
  return words;
}

}  // namespace mlc::server::fleet
