#include "worker/agent/worker_session.h"

#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace mlc::worker {
namespace {

class Stream : public WorkerSession, private grpc::ClientReadReactor<proto::Wake> {
 public:
  Stream(proto::Workers::Stub& stub, const std::string& worker, const std::string& incarnation,
         int eventfd)
      : eventfd_(eventfd) {
    request_.set_worker(worker);
    request_.set_incarnation(incarnation);
    stub.async()->OpenSession(&context_, &request_, this);
    StartRead(&message_);
    StartCall();
  }
  ~Stream() override {
    context_.TryCancel();
    std::unique_lock lock(mutex_);
    end_.wait(lock, [this] { return ended_; });
  }

  bool ended() const override {
    std::lock_guard lock(mutex_);
    return ended_;
  }
  bool failed_permanently() const override {
    std::lock_guard lock(mutex_);
    return status_.error_code() == grpc::StatusCode::UNIMPLEMENTED ||
           status_.error_code() == grpc::StatusCode::PERMISSION_DENIED;
  }
  const std::string& incarnation() const override { return request_.incarnation(); }

 private:
  void OnReadDone(bool ok) override {
    if (!ok) return;
    Signal();
    StartRead(&message_);
  }
  void OnDone(const grpc::Status& status) override {
    Signal();
    std::lock_guard lock(mutex_);
    status_ = status;
    ended_ = true;
    end_.notify_all();
  }
  void Signal() const {
    const uint64_t one = 1;
    (void)!write(eventfd_, &one, sizeof(one));
  }

  const int eventfd_;
  grpc::ClientContext context_;
  proto::OpenSessionRequest request_;
  proto::Wake message_;
  mutable std::mutex mutex_;
  std::condition_variable end_;
  grpc::Status status_;
  bool ended_ = false;
};

}  // namespace

std::unique_ptr<WorkerSession> WorkerSession::Start(proto::Workers::Stub& stub,
                                                    const std::string& worker,
                                                    const std::string& incarnation, int eventfd) {
  return std::make_unique<Stream>(stub, worker, incarnation, eventfd);
}

}  // namespace mlc::worker
