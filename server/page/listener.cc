#include "server/page/listener.h"

#include <httplib.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <list>
#include <thread>
#include <utility>

#include "base/mutex.h"
#include "base/rpc/acceptor.h"
#include "base/rpc/socket.h"

namespace mlc::server::page {

std::string HttpRequest::Field(const std::string& name) const {
  const auto found = fields.find(name);
  return found == fields.end() ? "" : found->second;
}

namespace {

using Time = std::chrono::steady_clock::time_point;

// The page gives way to calls, and to searches too.
constexpr int kNice = 15;
constexpr int kMostRequests = 200;  // of one connection
constexpr size_t kFormBytes = 8 << 10;

Time After(int64_t ms) { return std::chrono::steady_clock::now() + std::chrono::milliseconds(ms); }

// Nothing may load or run but what this server sends as a file of its own.
constexpr char kContentSecurityPolicy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' "
    "data:; frame-ancestors 'none'; base-uri 'none'; form-action 'self'";

httplib::Headers SafeHeaders() {
  return {{"Content-Security-Policy", kContentSecurityPolicy},
          {"X-Content-Type-Options", "nosniff"},
          {"X-Frame-Options", "DENY"},
          // Without any, browsers would hide from us, too, where a form comes from.
          {"Referrer-Policy", "same-origin"},
          {"Cross-Origin-Opener-Policy", "same-origin"},
          {"Cross-Origin-Resource-Policy", "same-origin"},
          {"Cache-Control", "no-store"}};
}

// One connection as httplib sees it, with the bounds of one request.
class PeerStream : public httplib::Stream {
 public:
  PeerStream(const ListenerOptions& options, int fd, transport::TlsStream* tls)
      : options_(options), fd_(fd), tls_(tls) {}

  // False if none begins in time.
  bool AwaitRequest(int64_t idle_ms) {
    const bool pending = tls_ != nullptr && tls_->has_pending();
    if (!pending && !transport::WaitForSocket(fd_, POLLIN, After(idle_ms))) return false;
    bytes_left_ = options_.request_bytes;
    deadline_ = After(options_.request_ms);
    return true;
  }
  bool is_readable() const override { return bytes_left_ > 0; }
  bool is_writable() const override { return true; }
  ssize_t read(char* to, size_t size) override {
    size = std::min(size, bytes_left_);
    if (size == 0) return -1;
    const ssize_t count = tls_ != nullptr ? tls_->Read(to, size, deadline_) : Receive(to, size);
    if (count > 0) bytes_left_ -= static_cast<size_t>(count);
    return count;
  }
  ssize_t write(const char* from, size_t size) override {
    const Time deadline = After(options_.answer_ms);
    const std::string_view bytes(from, size);
    const bool good = tls_ != nullptr ? tls_->Write(bytes, deadline) : Send(bytes, deadline);
    return good ? static_cast<ssize_t>(size) : -1;
  }
  void get_remote_ip_and_port(std::string& ip, int& port) const override { ip = "", port = 0; }
  void get_local_ip_and_port(std::string& ip, int& port) const override { ip = "", port = 0; }
  // httplib compares it with what select() can take; nothing here selects.
  socket_t socket() const override { return 0; }

 private:
  ssize_t Receive(char* to, size_t size) const {
    for (;;) {
      const ssize_t count = recv(fd_, to, size, 0);
      if (count >= 0) return count;
      if (errno == EINTR) continue;
      if (errno != EAGAIN || !transport::WaitForSocket(fd_, POLLIN, deadline_)) return -1;
    }
  }
  bool Send(std::string_view bytes, Time deadline) const {
    while (!bytes.empty()) {
      const ssize_t count = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (count >= 0) {
        bytes.remove_prefix(static_cast<size_t>(count));
      } else if (errno != EINTR &&
                 (errno != EAGAIN || !transport::WaitForSocket(fd_, POLLOUT, deadline))) {
        return false;
      }
    }
    return true;
  }

  const ListenerOptions& options_;
  const int fd_;
  transport::TlsStream* const tls_;
  size_t bytes_left_ = 0;
  Time deadline_;
};

struct Link {
  int fd = -1;
  std::string source;
  std::atomic<bool> known = false;
  bool done = false;
  bool answered = false;  // the last request has come to the handler; its thread's alone
  transport::TlsPeer peer;
  std::thread thread;
};

// The connection that this thread serves: httplib hands no context to its handlers.
thread_local Link* served = nullptr;

// httplib reads requests and writes answers; sockets, threads and routes are ours.
class Dialogue : public httplib::Server {
 public:
  explicit Dialogue(const HttpListener::Handler& handler) : handler_(handler) {
    svr_sock_ = 0;  // not shutting down, for httplib
    set_default_headers(SafeHeaders());
    set_payload_max_length(kFormBytes);
    const auto answer = [this](const httplib::Request& request, httplib::Response& response) {
      Answer(request, response);
    };
    Get(".*", answer);
    Post(".*", answer);
    set_exception_handler([](const auto&, httplib::Response& response, std::exception_ptr) {
      response.status = 500;
      response.set_content("The server has failed at this request.\n", "text/plain");
    });
  }

  bool Serve(PeerStream& stream, bool last, bool& closed) {
    return process_request(stream, last, closed, [](httplib::Request& request) {
      // Nothing is compressed: the length of a page would tell of a secret beside what a stranger
      // chose, and a small form may become a large one. Nor are there parts of answers.
      request.headers.erase("Accept-Encoding");
      request.headers.erase("Content-Encoding");
      request.headers.erase("Range");
      request.ranges.clear();
    });
  }
  void End() { svr_sock_ = INVALID_SOCKET; }

 private:
  void Answer(const httplib::Request& from, httplib::Response& to) const {
    HttpRequest request;
    request.method = from.method;
    request.path = from.path;
    request.has_query = from.target.find('?') != std::string::npos;
    for (const auto& [name, value] : from.params) request.fields.emplace(name, value);
    request.host = from.get_header_value("Host");
    request.origin = from.get_header_value("Origin");
    request.fetch_site = from.get_header_value("Sec-Fetch-Site");
    request.cookie = from.get_header_value("Cookie");
    request.authorization = from.get_header_value("Authorization");
    request.peer = served->peer;
    served->answered = true;
    HttpReply reply = handler_(request);
    if (reply.known) served->known = true;
    to.status = reply.status;
    for (const auto& [name, value] : reply.headers) to.set_header(name, value);
    if (!reply.next) return to.set_content(reply.body, reply.type);
    to.set_chunked_content_provider(
        reply.type, [next = std::move(reply.next)](size_t, httplib::DataSink& sink) {
          const std::optional<std::string> piece = next();
          if (!piece) return false;
          return sink.write(piece->data(), piece->size());
        });
  }

  const HttpListener::Handler handler_;
};

// httplib's constructor ignores SIGPIPE for the whole process, which is not its to decide.
std::unique_ptr<Dialogue> MakeDialogue(const HttpListener::Handler& handler) {
  struct sigaction before = {};
  (void)sigaction(SIGPIPE, nullptr, &before);
  auto dialogue = std::make_unique<Dialogue>(handler);
  (void)sigaction(SIGPIPE, &before, nullptr);
  return dialogue;
}

class RunningListener : public HttpListener {
 public:
  RunningListener(ListenerOptions options, std::unique_ptr<transport::Acceptor> acceptor)
      : options_(std::move(options)), acceptor_(std::move(acceptor)) {}
  ~RunningListener() override { Stop(); }

  const std::string& address() const override { return acceptor_->address(); }
  void Start(Handler handler) override {
    dialogue_ = MakeDialogue(handler);
    acceptor_->Start([this](int, int fd) { Take(fd); });
  }
  int connections() const override {
    const MutexLock lock(mutex_);
    return static_cast<int>(
        std::count_if(links_.begin(), links_.end(), [](const Link& link) { return !link.done; }));
  }
  void Stop() override {
    acceptor_->Stop();
    if (dialogue_ != nullptr) dialogue_->End();
    std::list<Link> links;
    {
      const MutexLock lock(mutex_);
      for (const Link& link : links_) {
        if (!link.done) (void)shutdown(link.fd, SHUT_RDWR);
      }
      links.swap(links_);
      stopping_ = true;
    }
    for (Link& link : links) {
      if (link.thread.joinable()) link.thread.join();
    }
  }

 private:
  // On the acceptor's thread.
  void Take(int fd) {
    const MutexLock lock(mutex_);
    links_.remove_if([](Link& link) {
      if (link.done) link.thread.join();
      return link.done;
    });
    const std::string source = transport::SourceOf(fd);
    const auto of_source = std::count_if(links_.begin(), links_.end(),
                                         [&](const Link& link) { return link.source == source; });
    const bool full = static_cast<int>(links_.size()) >= options_.most_connections;
    if (full) CloseAStranger();
    if (stopping_ || full || of_source >= options_.most_of_one_address) {
      (void)close(fd);
      return;
    }
    Link& link = links_.emplace_back();
    link.fd = fd;
    link.source = source;
    link.thread = std::thread([this, &link] { Run(link); });
  }
  // The oldest of those who have not proved who they are: who comes next finds room.
  void CloseAStranger() MLC_REQUIRES(mutex_) {
    for (const Link& link : links_) {
      if (link.known || link.done) continue;
      (void)shutdown(link.fd, SHUT_RDWR);
      return;
    }
  }

  void Run(Link& link) {
    // Signals are the program's; a peer that has gone is an error of a write.
    sigset_t all;
    sigfillset(&all);
    (void)pthread_sigmask(SIG_BLOCK, &all, nullptr);
    (void)setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), kNice);
    served = &link;
    Talk(link);
    const MutexLock lock(mutex_);
    (void)close(link.fd);
    link.done = true;
  }
  void Talk(Link& link) {
    std::unique_ptr<transport::TlsStream> tls;
    if (options_.tls != nullptr) {
      auto accepted = options_.tls->Accept(link.fd, After(options_.handshake_ms));
      if (!accepted.ok()) return;
      tls = *std::move(accepted);
      link.peer = tls->peer();
    }
    PeerStream stream(options_, link.fd, tls.get());
    for (int i = 1; i <= kMostRequests; ++i) {
      bool closed = false;
      if (!stream.AwaitRequest(i == 1 ? options_.handshake_ms : options_.idle_ms)) break;
      link.answered = false;
      if (!dialogue_->Serve(stream, i == kMostRequests, closed) || closed) break;
      // Where a request was refused unread, what follows is no beginning of another one.
      if (!link.answered) break;
    }
    if (tls != nullptr) tls->Close();
  }

  const ListenerOptions options_;
  const std::unique_ptr<transport::Acceptor> acceptor_;
  std::unique_ptr<Dialogue> dialogue_;
  mutable Mutex mutex_;
  std::list<Link> links_ MLC_GUARDED_BY(mutex_);
  bool stopping_ MLC_GUARDED_BY(mutex_) = false;
};

}  // namespace

Result<std::unique_ptr<HttpListener>> HttpListener::Open(ListenerOptions options) {
  auto acceptor = MLC_TRY(transport::Acceptor::Listen(options.address, {}));
  return std::unique_ptr<HttpListener>(
      std::make_unique<RunningListener>(std::move(options), std::move(acceptor)));
}

}  // namespace mlc::server::page
