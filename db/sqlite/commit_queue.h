// Group commit. One thread owns the only writing connection and puts many queued writes into each
// transaction, so full synchronisation costs a few milliseconds per batch instead of per row. A
// batch ends at 64 writes, 20 ms after its first write, or when a caller waits. After an I/O error
// the state of the disk is unknown, so every later write is refused. Thread-safe.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "base/status.h"
#include "db/sqlite/sqlite.h"

namespace mlc::db {

class CommitQueue {
 public:
  // Runs on the queue's thread inside a transaction. An error undoes only this write.
  using Write = std::function<Status(Database&)>;
  // Runs once, on the queue's thread, after the commit or its failure.
  using Done = std::function<void(const Status&)>;

  // `timed` gets the duration of each batch in seconds, on the queue's thread; may be empty.
  CommitQueue(Database database, std::function<void(double)> timed);
  // Commits all queued writes, checkpoints and closes the connection.
  ~CommitQueue();

  void Push(Write write, Done done);
  // Blocks until the write is committed or has failed.
  Status PushAndWait(Write write);

 private:
  struct Entry {
    Write write;
    Done done;
    Status status;
  };

  void Loop();
  std::vector<Entry> TakeBatch();
  void Commit(std::vector<Entry>& batch);
  Status Apply(std::vector<Entry>& batch);
  void Checkpoint();

  Database database_;
  const std::function<void(double)> timed_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Entry> queue_;
  std::chrono::steady_clock::time_point first_queued_;
  Status broken_;  // the I/O error that ended all writing
  bool urgent_ = false;
  bool stopping_ = false;
  int64_t pages_since_checkpoint_ = 0;
  std::thread thread_;
};

}  // namespace mlc::db
