// The server inside mlc-tune: the code of mlc-server on a Unix socket in a private folder, and one
// mlc-worker child, which ends with this process in any case. Use it from one thread.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "base/status.h"
#include "client/local/private_folder.h"
#include "server/search/strategy.h"
#include "server/server.h"

namespace mlc::client {

struct EmbeddedOptions {
  std::string log;
  std::string worker;          // path of mlc-worker
  int threads = 0;             // of the kernels
  std::string device = "cpu";  // what mlc-worker --target takes
  std::string cuda_home;
  std::string cubin_cache;
  std::string page;  // HOST:PORT of the read-only live page; empty: none
  bool verbose = false;
  bool allow_user_kernels = false;  // as mlc-worker takes it
  server::StrategyFactory strategy;
};

// The path of the program `name` in the folder of this program.
std::string ProgramBeside(const std::string& name);

class EmbeddedServer {
 public:
  // Starts the worker, which gets ready while the caller has other things to do, for example those
  // that a process does before it has threads. UNAVAILABLE if there is no such worker.
  static Result<std::unique_ptr<EmbeddedServer>> Begin(EmbeddedOptions options);
  // Starts the server, whose errors it returns. Call it once, before what follows.
  Status Serve();
  ~EmbeddedServer();

  std::string address() const { return "unix:" + folder_.path() + "/server"; }
  std::string page_url() const { return server_->page_url(); }
  // Restarts the worker if it has ended. `trials`: the number of trials so far. UNAVAILABLE, with
  // what to do first, if a restart would not help: the worker refuses to run, ends twice in the
  // same way without a trial in between, or ends too often.
  Status KeepWorker(int64_t trials);
  // Waits for running trials, at most `grace_ms`, then stops worker and server. Call it once.
  void Stop(int64_t grace_ms);

 private:
  EmbeddedServer(EmbeddedOptions options, PrivateFolder folder)
      : options_(std::move(options)), folder_(std::move(folder)) {}
  Status StartWorker();
  std::string LastWords() const;
  Status WhyNoWorker(const std::string& how, const std::string& words) const;

  EmbeddedOptions options_;
  PrivateFolder folder_;  // outlives the server
  std::unique_ptr<server::Server> server_;
  pid_t worker_ = -1;
  int exits_ = 0;
  int64_t trials_ = 0;    // trials made when the worker last ended
  std::string last_end_;  // how it ended, with its last output
};

}  // namespace mlc::client
