#include "worker/engine/engine_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <utility>

#include "base/process/frame.h"

namespace mlc::worker {
namespace {

// The first byte of a message: to the engine, then from it.
constexpr char kTrial = 'T';
constexpr char kCancel = 'C';
constexpr char kGate = 'L';  // with '+' or '-': to be made or not; and its path
constexpr char kMeasurementAllowed = 'G';
constexpr char kHello = 'H';
constexpr char kError = 'E';
constexpr char kMeasurementRequest = 'M';
constexpr char kResults = 'R';
constexpr char kWarning = 'W';

// Bytes of a trial's result: its digest, its measurement and the device's time.
constexpr size_t kMinResult = 2 * sizeof(uint64_t) + kMinMeasurement + sizeof(double);

// Reads what is there; false at the end of the stream.
bool Receive(int fd, std::string& received) {
  char buffer[65536];
  for (;;) {
    const ssize_t size = recv(fd, buffer, sizeof(buffer), MSG_DONTWAIT);
    if (size > 0) received.append(buffer, static_cast<size_t>(size));
    if (size == 0) return false;
    if (size < 0 && errno != EINTR) return errno == EAGAIN;
  }
}

std::string ErrorMessage(const Status& status) {
  return Frame(std::string{kError, static_cast<char>(status.code())} + status.message());
}

// What it brings.
Status ErrorOf(std::string_view report) {
  if (report.empty()) return Internal("the engine does not start");
  return {static_cast<StatusCode>(report[0]), std::string(report.substr(1))};
}

// The engine's side: one loop until the daemon closes its end.
class Server {
 public:
  Server(Engine& engine, int fd) : engine_(engine), fd_(fd) {}

  void Serve() {
    while (TakeMessages()) {
      if (engine_.ReadyToMeasure()) {
        if (!AwaitGo()) return;
        engine_.Measure();
        if (!Report(true)) return;
        continue;
      }
      engine_.Work(engine_.held() > 0 ? 200 : 1000, fd_);
      if (const Status failure = engine_.StartFailure(); !failure.ok()) {
        WriteAll(fd_, ErrorMessage(failure));
        return;
      }
      if (!Report(false)) return;
    }
  }

 private:
  bool TakeMessages() {
    const bool open = Receive(fd_, received_);
    while (auto message = TakeFrame(received_)) Take(*message);
    return open;
  }

  void Take(const std::string& message) {
    if (message.empty()) return;
    const std::string_view rest = std::string_view(message).substr(1);
    ByteReader in(rest);
    if (message[0] == kTrial) engine_.Add(GetTrial(in));
    if (message[0] == kCancel) engine_.Cancel(GetDigest(in));
    if (message[0] == kGate && !rest.empty()) {
      engine_.set_gate({std::string(rest.substr(1)), rest[0] == '+'});
    }
    if (message[0] == kMeasurementAllowed) go_ = true;
  }

  // Nothing is started meanwhile, so nothing runs beside the timing.
  bool AwaitGo() {
    go_ = false;
    if (!WriteAll(fd_, Frame(std::string(1, kMeasurementRequest)))) return false;
    while (!go_) {
      pollfd waiting = {fd_, POLLIN, 0};
      (void)poll(&waiting, 1, -1);
      if (!TakeMessages()) return false;
    }
    return true;
  }

  bool Report(bool measured) {
    const std::string warning = engine_.TakeWarning();
    if (!warning.empty() && !WriteAll(fd_, Frame(kWarning + warning))) return false;
    const std::vector<TrialResult> results = engine_.TakeResults();
    if (results.empty() && !measured) return true;
    ByteWriter out;
    out.Put(kResults);
    out.Put(measured);
    out.Put<uint64_t>(results.size());
    for (const TrialResult& result : results) {
      Put(out, result.uid);
      Put(out, result.measurement);
      out.Put(result.device_s.value_or(0));
    }
    const DeviceUse use = engine_.Use();
    out.PutText(use.text);
    out.Put(use.trial_s);
    out.Put(use.busy_s);
    return WriteAll(fd_, Frame(out.Take()));
  }

  Engine& engine_;
  int fd_;
  std::string received_;
  bool go_ = false;
};

[[noreturn]] void RunEngine(const EngineMaker& make, int fd, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  // The daemon decides when to stop.
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) std::signal(signal, SIG_IGN);
  prctl(PR_SET_NAME, "mlc-engine");
  Result<std::unique_ptr<Engine>> engine = make();
  if (!engine.ok()) {
    WriteAll(fd, ErrorMessage(engine.status()));
    _exit(1);
  }
  ByteWriter hello;
  hello.Put(kHello);
  const std::vector<DeviceDescription> devices = (*engine)->Describe();
  hello.Put<uint64_t>(devices.size());
  for (const DeviceDescription& device : devices) Put(hello, device);
  WriteAll(fd, Frame(hello.Take()));
  Server(**engine, fd).Serve();
  engine->reset();
  _exit(0);
}

}  // namespace

Result<std::unique_ptr<EngineProcess>> EngineProcess::Start(const EngineMaker& make,
                                                            int64_t timeout_ms) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return ResourceExhausted("cannot create a socket pair: too many open files");
  }
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0) {
    close(ends[0]);
    RunEngine(make, ends[1], parent);
  }
  close(ends[1]);
  if (pid < 0) {
    close(ends[0]);
    return ResourceExhausted("cannot start the engine's process");
  }
  auto process = std::unique_ptr<EngineProcess>(new EngineProcess(ends[0], pid));
  for (;;) {
    pollfd waiting = {ends[0], POLLIN, 0};
    if (poll(&waiting, 1, static_cast<int>(timeout_ms)) == 0)
      return Unavailable("the engine does not start");
    const bool open = Receive(ends[0], process->incoming_);
    if (const auto hello = TakeFrame(process->incoming_)) {
      if (hello->empty()) return Internal("the engine sent nothing");
      const std::string_view rest = std::string_view(*hello).substr(1);
      if ((*hello)[0] != kHello) return ErrorOf(rest);
      ByteReader in(rest);
      process->devices_.resize(in.GetCount(kMinDeviceDescription));
      for (DeviceDescription& device : process->devices_) device = GetDeviceDescription(in);
      return process;
    }
    if (!open) return Internal("the engine's process ended at its start");
  }
}

EngineProcess::~EngineProcess() {
  // Its children die with it.
  kill(pid_, SIGKILL);
  (void)waitpid(pid_, nullptr, 0);
  close(fd_);
}

void EngineProcess::Send(std::string payload) {
  outgoing_ += Frame(payload);
  Flush();
}

void EngineProcess::Flush() {
  while (!outgoing_.empty()) {
    const ssize_t size = send(fd_, outgoing_.data(), outgoing_.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return;
    outgoing_.erase(0, static_cast<size_t>(size));
  }
}

void EngineProcess::Add(const Trial& trial) {
  ByteWriter out;
  out.Put(kTrial);
  Put(out, trial);
  Send(out.Take());
}

void EngineProcess::Cancel(const Digest& uid) {
  ByteWriter out;
  out.Put(kCancel);
  Put(out, uid);
  Send(out.Take());
}

void EngineProcess::SetGate(const GateFile& file) {
  Send(std::string{kGate, file.make ? '+' : '-'} + file.path);
}

void EngineProcess::AllowMeasurement() { Send(std::string(1, kMeasurementAllowed)); }

Result<EngineProcess::Events> EngineProcess::Read() {
  const bool open = Receive(fd_, incoming_);
  Events events;
  while (const auto message = TakeFrame(incoming_)) {
    if (message->empty()) continue;
    ByteReader in(std::string_view(*message).substr(1));
    if ((*message)[0] == kError) return ErrorOf(std::string_view(*message).substr(1));
    if ((*message)[0] == kMeasurementRequest) events.wants_to_measure = true;
    if ((*message)[0] == kWarning) events.warnings.push_back(message->substr(1));
    if ((*message)[0] != kResults) continue;
    events.measured |= in.Get<bool>();
    for (size_t count = in.GetCount(kMinResult); count > 0 && in.ok(); --count) {
      const Digest uid = GetDigest(in);
      Measurement measurement = GetMeasurement(in);
      events.results.push_back({uid, std::move(measurement), in.Get<double>()});
    }
    if (std::string use = in.GetText(); !use.empty()) use_.text = std::move(use);
    use_.trial_s = in.Get<double>();
    use_.busy_s = in.Get<double>();
  }
  if (!open && events.results.empty()) return Unavailable("the engine's process has ended");
  return events;
}

}  // namespace mlc::worker
