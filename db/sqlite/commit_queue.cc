#include "db/sqlite/commit_queue.h"

#include <future>
#include <utility>

namespace mlc::db {
namespace {

constexpr size_t kBatch = 64;
constexpr std::chrono::milliseconds kDelay(20);
// 2 MiB of write-ahead log. Who waits for a commit may wait for a checkpoint before it. In a log of
// many records nearly each index entry falls on a page of its own, so that counting writes would
// not bound it.
constexpr int64_t kPagesPerCheckpoint = 512;

}  // namespace

CommitQueue::CommitQueue(Database database, std::function<void(double)> timed)
    : database_(std::move(database)), timed_(std::move(timed)), thread_([this] { Loop(); }) {}

CommitQueue::~CommitQueue() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
  if (broken_.ok()) (void)database_.Execute("PRAGMA wal_checkpoint(TRUNCATE)");
}

void CommitQueue::Push(Write write, Done done) {
  {
    std::lock_guard lock(mutex_);
    if (queue_.empty()) first_queued_ = std::chrono::steady_clock::now();
    queue_.push_back({std::move(write), std::move(done), Status()});
  }
  wake_.notify_one();
}

Status CommitQueue::PushAndWait(Write write) {
  std::promise<Status> committed;
  std::future<Status> result = committed.get_future();
  {
    std::lock_guard lock(mutex_);
    if (queue_.empty()) first_queued_ = std::chrono::steady_clock::now();
    queue_.push_back({std::move(write),
                      [&committed](const Status& status) { committed.set_value(status); },
                      Status()});
    urgent_ = true;
  }
  wake_.notify_one();
  return result.get();
}

std::vector<CommitQueue::Entry> CommitQueue::TakeBatch() {
  std::unique_lock lock(mutex_);
  wake_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
  if (!queue_.empty()) {
    wake_.wait_until(lock, first_queued_ + kDelay,
                     [this] { return stopping_ || urgent_ || queue_.size() >= kBatch; });
  }
  urgent_ = false;
  return std::exchange(queue_, {});
}

void CommitQueue::Loop() {
  while (true) {
    std::vector<Entry> batch = TakeBatch();
    if (batch.empty()) return;  // stopping, and nothing is left
    const auto begin = std::chrono::steady_clock::now();
    Commit(batch);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    if (timed_) timed_(took.count());
    for (Entry& entry : batch) entry.done(entry.status);
    pages_since_checkpoint_ += database_.TakePagesWritten();
    if (pages_since_checkpoint_ >= kPagesPerCheckpoint) Checkpoint();
  }
}

void CommitQueue::Commit(std::vector<Entry>& batch) {
  const Status status = broken_.ok() ? Apply(batch) : broken_;
  if (status.ok()) return;
  if (!database_.InAutocommit()) (void)database_.Execute("ROLLBACK");
  if (broken_.ok() && status.code() == StatusCode::kDataLoss) {
    broken_ = status.WithPrefix("the log takes no writes any more after");
  }
  for (Entry& entry : batch) entry.status = status;
}

// An error of the whole transaction is returned; an error of one write stays with it.
Status CommitQueue::Apply(std::vector<Entry>& batch) {
  MLC_TRY(database_.Execute("BEGIN IMMEDIATE"));
  for (Entry& entry : batch) {
    MLC_TRY(database_.Execute("SAVEPOINT one"));
    entry.status = entry.write(database_);
    if (database_.InAutocommit()) return entry.status;  // SQLite gave the transaction up
    if (!entry.status.ok() && entry.status.code() != StatusCode::kInvalidArgument) {
      return entry.status;
    }
    if (!entry.status.ok()) MLC_TRY(database_.Execute("ROLLBACK TO one"));
    MLC_TRY(database_.Execute("RELEASE one"));
  }
  return database_.Execute("COMMIT");
}

void CommitQueue::Checkpoint() {
  if (!broken_.ok()) return;
  // A reader in the way only delays it: the next one takes over what is left.
  (void)database_.Execute("PRAGMA wal_checkpoint(PASSIVE)");
  pages_since_checkpoint_ = 0;
}

}  // namespace mlc::db
