#include "worker/doctor/doctor.h"

#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "base/machine/cpus.h"
#include "base/machine/topology.h"
#include "base/sandbox/sandbox.h"

namespace mlc::worker {
namespace {

std::string FirstLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::string Field(const std::string& path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    const size_t start = line.find_first_not_of(" \t", line.find(':') + 1);
    return start == std::string::npos ? "" : line.substr(start);
  }
  return "unknown";
}

constexpr int64_t kServerTimeoutMs = 5'000;

}  // namespace

Diagnosis Diagnose(const target::Target& target) {
  Diagnosis diagnosis;
  std::ostringstream out;
  const auto line = [&](const char* mark, const std::string& what, const std::string& value) {
    out << "  " << mark << "  " << what << ": " << value << "\n";
  };
  line("ok  ", "CPU", Field("/proc/cpuinfo", "model name"));
  line("ok  ", "target", target.ToText());
  const int cpus = target::UsableCpus();
  line(cpus >= target.cpu().threads ? "ok  " : "warn", "CPUs usable",
       std::to_string(cpus) + " for " + std::to_string(target.cpu().threads) + " threads");
  line("ok  ", "places of the threads",
       target::DescribePlaces(target::UsablePlaces(), target.cpu().threads));
  const std::string load = FirstLine("/proc/loadavg");
  line(std::strtod(load.c_str(), nullptr) < 0.5 ? "ok  " : "warn", "load of others", load);
  line("ok  ", "memory available", Field("/proc/meminfo", "MemAvailable"));
  const std::string governor = FirstLine("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  const bool steady = governor.empty() || governor == "performance";
  line(steady ? "ok  " : "warn", "frequency governor", governor.empty() ? "not visible" : governor);
  const build::SandboxSupport sandbox = build::DetectSandbox();
  line(sandbox.seccomp ? "ok  " : "FAIL", "seccomp",
       sandbox.seccomp ? "yes" : "missing: start with --sandbox=off if you trust every server");
  line(sandbox.landlock_abi > 0 ? "ok  " : "warn", "landlock",
       sandbox.landlock_abi > 0 ? "version " + std::to_string(sandbox.landlock_abi)
                                : "missing: GPUs are refused, as nothing else keeps their driver's "
                                  "process from files; the CPU does with seccomp alone");
  const bool may_raise = setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) - 1) == 0;
  line(may_raise ? "ok  " : "warn", "raising the priority of timings",
       may_raise ? "allowed" : "not allowed: CAP_SYS_NICE would steady timings");
  diagnosis.usable = sandbox.seccomp;
  diagnosis.report = out.str();
  return diagnosis;
}

Diagnosis DiagnoseServer(const transport::ChannelOptions& server) {
  const auto connection = transport::Connection::Open(server);
  const Status reached =
      connection.ok() ? (*connection)->WaitUntilReady(kServerTimeoutMs) : connection.status();
  const std::string how = server.tls.empty() ? ", without TLS" : ", with TLS";
  return {std::string(reached.ok() ? "  ok    " : "  FAIL  ") + "server: " +
              (reached.ok() ? server.address + " answers" + how : reached.message()) + "\n",
          reached.ok()};
}

}  // namespace mlc::worker
