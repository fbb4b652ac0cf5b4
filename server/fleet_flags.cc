#include "server/fleet_flags.h"

#include <CLI/CLI.hpp>

#include "base/settings/setting_table.h"
#include "server/fleet/fleet.h"

namespace mlc::server {

void AddFleetFlags(CLI::App& app, FleetFlags& flags) {
  auto* kind =
      app.add_option("--fleet", flags.kind, settings::HelpOf(settings::Program::kServer, "fleet"))
          ->check(CLI::IsMember({"local", "static", "slurm", "exec"}));
  app.add_option("--fleet-config", flags.config,
                 settings::HelpOf(settings::Program::kServer, "fleet-config"))
      ->needs(kind);
}

Result<std::optional<fleet::FleetConfig>> ReadFleetFlags(const FleetFlags& flags,
                                                         const std::string& listen) {
  std::optional<fleet::FleetConfig> config;
  if (flags.kind.empty()) return config;
  config = MLC_TRY(fleet::LoadFleetConfig(MLC_TRY(fleet::ParseKind(flags.kind)), flags.config));
  const bool anywhere = listen.starts_with("0.0.0.0:") || listen.starts_with("[::]:");
  if (anywhere && config->server.empty() && config->kind != fleet::Kind::kStatic) {
    return FailedPrecondition("fleet configuration: file.server: is needed, because " + listen +
                              " is not an address that workers can connect to");
  }
  return config;
}

}  // namespace mlc::server
