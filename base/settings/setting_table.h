// The table of the programs' settings: flags, environment variables, keys of the configuration file
// and their --help texts follow from it. To add a setting, add a row here and a flag of that name
// whose help is HelpOf its row. Constant; thread-safe.
#pragma once

#include <span>

#include "base/settings/setting.h"

namespace mlc::settings {
namespace table {

using K = ValueKind;

constexpr uint8_t kTune = static_cast<uint8_t>(Program::kTune);
constexpr uint8_t kCompile = static_cast<uint8_t>(Program::kCompile);
constexpr uint8_t kRun = static_cast<uint8_t>(Program::kRun);
constexpr uint8_t kServer = static_cast<uint8_t>(Program::kServer);
constexpr uint8_t kWorker = static_cast<uint8_t>(Program::kWorker);
constexpr uint8_t kClients = kTune | kCompile | kWorker;

constexpr Setting Shared(std::string_view name, K kind, uint8_t programs, const char* help) {
  return {name, kind, Scope::kAllPrograms, programs, help};
}
constexpr Setting Own(std::string_view name, K kind, uint8_t program, const char* help) {
  return {name, kind, Scope::kOwn, program, help};
}

// A setting that programs explain in different words has a row for each. `server` goes first: the
// rows for the network depend on it.
inline constexpr Setting kRows[] = {
    Shared("server", K::kText, kTune, "address of an mlc-server; embedded if not given")
        .YieldsTo("log"),
    Shared("server", K::kText, kCompile, "mlc-server to ask for the best kernels, instead of a log")
        .YieldsTo("log"),
    Shared("server", K::kText, kWorker, "HOST:PORT or unix:PATH"),
    Shared("tls-cert", K::kPath, kClients, "PEM certificate of this client, with its chain")
        .YieldsTo("tls-key")
        .ForNetwork(),
    Shared("tls-key", K::kPath, kClients, "PEM key of --tls-cert")
        .YieldsTo("tls-cert")
        .ForNetwork(),
    Shared("tls-ca", K::kPath, kClients,
           "PEM certificates of the authority that signs the peer's certificate")
        .ForNetwork(),
    Shared("tls-crl", K::kPath, kClients,
           "PEM list of revoked certificates of peers, signed by --tls-ca")
        .ForNetwork(),
    Shared("token-file", K::kPath, kClients, "file with a bearer token, instead of --tls-cert")
        .ForNetwork(),
    Shared("server-name", K::kText, kClients,
           "name in the server's certificate, if it is not the host of --server")
        .ForNetwork(),
    Shared("log", K::kPath, kTune, "tuning log of the embedded server"),
    Shared("log", K::kPath, kCompile, "tuning log or snapshot with the best kernels"),
    Shared("target", K::kText, kTune,
           "; with --server, auto, cpu and cuda are its workers', if of one class"),
    Shared("target", K::kText, kCompile,
           "; auto is what the log, the lock file or the server has records of, if that is "
           "this machine's or one class; with --server, cpu and cuda are what it has "
           "records of, if that is one class"),
    Shared("threads", K::kNumber, kTune | kCompile | kRun | kWorker,
           "threads of the kernels; 0 means one for each core of one socket"),
    Shared("cuda-home", K::kPath, kClients, "where NVRTC and CUPTI are; default: the usual places"),
    Shared("cubin-cache", K::kPathOrOff, kClients,
           "folder of compiled device code, or off; default: mlc-tune/cubins in the user's "
           "cache folder"),
    Own("worker", K::kPath, kTune, "mlc-worker program of the embedded server"),
    Own("reconnect-timeout", K::kText, kTune,
        "how long to keep retrying if the connection to the server is lost"),
    Own("device", K::kNumber, kRun, "GPU of a library for GPUs, as the driver counts"),
    Own("log", K::kPath, kServer, "tuning log, created if missing"),
    Own("listen", K::kText, kServer, "unix:PATH or HOST:PORT; port 0 picks one"),
    Own("http", K::kText, kServer,
        "HOST:PORT of a page for browsers, with the TLS and tokens of the calls; none if empty"),
    Own("tls-cert", K::kPath, kServer, "PEM certificate of this server, with its chain")
        .YieldsTo("tls-key"),
    Own("tls-key", K::kPath, kServer, "PEM key of --tls-cert").YieldsTo("tls-cert"),
    Own("tls-ca", K::kPath, kServer,
        "PEM certificates of the authority that signs the peer's certificate"),
    Own("tls-crl", K::kPath, kServer,
        "PEM list of revoked certificates of peers, signed by --tls-ca"),
    Own("tokens", K::kPath, kServer,
        "file with the digests of bearer tokens and the identity of each"),
    Own("insecure-listen", K::kSwitch, kServer,
        "without TLS, accept connections from other machines; every caller then has every role"),
    Own("metrics", K::kText, kServer, "HOST:PORT that answers Prometheus; none if empty"),
    Own("log-file", K::kPath, kServer, "file for messages; standard error if empty"),
    Own("log-format", K::kText, kServer, "format of messages: text or json"),
    Own("log-level", K::kText, kServer, "least level of messages: debug, info, warn, error"),
    Own("timing-lock", K::kPath, kServer,
        "lock file that keeps the search and the timings of local workers apart"),
    Own("lease-ms", K::kNumber, kServer, "a silent worker loses its trials after this many ms"),
    Own("canaries", K::kText, kServer,
        "test workers with known trials and quarantine those that misbehave: on or off"),
    Own("max-workers", K::kNumber, kServer, "most workers in contact at the same time"),
    Own("max-workers-each", K::kNumber, kServer,
        "most workers in contact for one certificate or token; all local workers count together"),
    Own("grace-ms", K::kNumber, kServer, "how long a stop waits for trials in progress, in ms"),
    Own("quotas", K::kPath, kServer, "JSON file with the limits and the share of each user"),
    Own("search-threads", K::kNumber, kServer,
        "jobs whose searches compute at the same time; default: all cores, at most 4"),
    Own("snapshots", K::kPath, kServer, "folder for snapshots that builds read; none if empty"),
    Own("snapshot-minutes", K::kNumber, kServer, "minutes between two snapshots"),
    Own("snapshot-keep", K::kNumber, kServer, "number of newest snapshots to keep"),
    Own("snapshot-days", K::kNumber, kServer,
        "also keep the last snapshot of each of this many days"),
    Own("snapshot-free", K::kNumber, kServer,
        "percent of the log's volume to leave free; old snapshots are deleted for it"),
    Own("fleet", K::kText, kServer,
        "who starts workers: local (this server), slurm, exec (a command), static (you); "
        "none if empty"),
    Own("fleet-config", K::kPath, kServer,
        "JSON file about pools of workers: docs/reference/fleet-file.md"),
    Own("target", K::kText, kWorker, "devices: cpu, cuda (all visible GPUs), or all (both)"),
    Own("name", K::kText, kWorker, "stable name of this worker; the host's if empty"),
    Own("state", K::kPath, kWorker,
        "folder for results that the server has not acknowledged; a restart sends them"),
    Own("builders", K::kNumber, kWorker, "compilers in parallel; 0 = one per CPU"),
    Own("slots", K::kNumber, kWorker, "trials held at a time; 0 = 16 per compiler"),
    Own("gate", K::kPath, kWorker, "file locked while timing, if the server names none"),
    Shared("gpu-locks", K::kPath, kWorker,
           "folder of the locks with which all workers of a host take turns on GPUs; default: "
           "/run/mlc-gpu if it exists, else /tmp"),
    Own("sandbox", K::kText, kWorker,
        "sandbox of child processes: on (refuse what cannot be sandboxed here), best (run it "
        "without a sandbox), or off"),
    Own("allow-user-kernels", K::kSwitch, kWorker,
        "also run user-supplied kernels: in CUDA on GPUs; in C on CPUs, with the machine's C "
        "compiler"),
};

}  // namespace table

inline constexpr std::span<const Setting> kSettings = table::kRows;

// The setting of the program with this name; null if it has none.
constexpr const Setting* Find(Program program, std::string_view name) {
  for (const Setting& setting : kSettings) {
    if (setting.name == name && setting.IsOf(program)) return &setting;
  }
  return nullptr;
}

// The --help text of the setting. An unknown name is a compile-time error.
consteval const char* HelpOf(Program program, std::string_view name) {
  return Find(program, name)->help;
}

}  // namespace mlc::settings
