#include "server/page/live_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/sinks/null_sink.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>

#include <memory>
#include <string>
#include <vector>

#include "base/rpc/socket.h"
#include "server/state/state_json.h"
#include "tests/unit/server/page/fake_source.h"

namespace mlc::server::page {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

constexpr int kTimeoutMs = 30'000;

class LivePageTest : public ::testing::Test {
 protected:
  void SetUp() override { Start({}); }

  void Start(PageOptions options) {
    page_.reset();
    options.listen = "127.0.0.1:0";
    options.feed.period = std::chrono::milliseconds(5);
    auto page = LivePage::Start(options, source_, access_, logger_, std::make_shared<Metrics>());
    ASSERT_TRUE(page.ok()) << page.status().ToString();
    page_ = *std::move(page);
    const std::string url = page_->url();
    address_ = url.substr(7, url.size() - 8);
  }
  transport::Descriptor Send(const std::string& bytes) const {
    Result<transport::Descriptor> socket = transport::ConnectTo(address_, kTimeoutMs);
    EXPECT_TRUE(socket.ok()) << socket.status().ToString();
    EXPECT_EQ(send(socket->get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
    return *std::move(socket);
  }
  // Reads until the words come, or to the end.
  static std::string ReadTo(const transport::Descriptor& socket, const std::string& words) {
    std::string text;
    char part[4096];
    while (words.empty() || text.find(words) == std::string::npos) {
      const ssize_t count = recv(socket.get(), part, sizeof(part), 0);
      if (count <= 0) break;
      text.append(part, static_cast<size_t>(count));
    }
    return text;
  }
  std::string Ask(const std::string& line, const std::string& headers,
                  const std::string& body = "") const {
    return ReadTo(Send(line + " HTTP/1.1\r\nConnection: close\r\n" + headers + "\r\n" + body), "");
  }
  std::string Get(const std::string& path) const {
    return Ask("GET " + path, "Host: " + address_ + "\r\n");
  }
  std::string Post(const std::string& path, const std::string& body,
                   const std::string& origin) const {
    std::string headers = "Host: " + address_ +
                          "\r\nContent-Type: application/x-www-form-urlencoded\r\n"
                          "Content-Length: " +
                          std::to_string(body.size()) + "\r\n";
    if (!origin.empty()) headers += "Origin: " + origin + "\r\n";
    return Ask("POST " + path, headers, body);
  }
  std::string Secret() const {
    const std::string page = Get("/jobs/" + std::string(kJob));
    const std::string mark = "name=\"secret\" value=\"";
    const size_t at = page.find(mark);
    return at == std::string::npos ? "" : page.substr(at + mark.size(), 64);
  }

  FakeSource source_;
  OpenAccess access_;
  std::shared_ptr<spdlog::logger> logger_ =
      std::make_shared<spdlog::logger>("test", std::make_shared<spdlog::sinks::null_sink_mt>());
  std::unique_ptr<LivePage> page_;
  std::string address_;
};

TEST_F(LivePageTest, NamesOfSubmittersAreTextEverywhere) {
  for (const std::string path : {"/jobs", "/jobs/0123456789abcdef0123456789abcdef", "/workers",
                                 "/worker?name=w%261", "/queue", "/best", "/best?q=<script>"}) {
    const std::string page = Get(path);
    EXPECT_THAT(page, StartsWith("HTTP/1.1 200")) << path;
    EXPECT_THAT(page, Not(HasSubstr("<script>"))) << path;
    EXPECT_THAT(page, Not(HasSubstr("<i>wrong"))) << path;
    EXPECT_THAT(page, Not(HasSubstr("style="))) << path;
  }
  EXPECT_THAT(Get("/jobs"), HasSubstr("&lt;script&gt;alert"));
}

TEST_F(LivePageTest, EveryAnswerForbidsScriptsOfOthersAndFrames) {
  for (const std::string& page :
       {Get("/jobs"), Get("/nowhere"), Get("/api/jobs"), Get("/assets/page.js"),
        Ask("GET /jobs", "Host: evil.example\r\n"), Post("/cancel", "", "")}) {
    EXPECT_THAT(page, HasSubstr("Content-Security-Policy: default-src 'none'; script-src 'self'"));
    EXPECT_THAT(page, HasSubstr("frame-ancestors 'none'"));
    EXPECT_THAT(page, HasSubstr("X-Content-Type-Options: nosniff"));
    EXPECT_THAT(page, HasSubstr("Referrer-Policy: same-origin"));
  }
}

TEST_F(LivePageTest, ForeignNamesOfThisAddressAreRefused) {
  EXPECT_THAT(Ask("GET /jobs", "Host: evil.example\r\n"), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(Ask("GET /jobs", ""), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(Ask("GET /jobs", "Host: localhost:99\r\n"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(Ask("GET /jobs", "Host: [::1]:99\r\n"), StartsWith("HTTP/1.1 200"));
}

TEST_F(LivePageTest, ProgramsGetTheJsonThatClientsPrint) {
  EXPECT_THAT(Get("/api/jobs"), HasSubstr(JobsJson(*source_.Jobs(1))));
  EXPECT_THAT(Get("/api/workers"), HasSubstr(WorkersJson(source_.Workers())));
  EXPECT_THAT(Get("/api/queue"), HasSubstr(R"("owner":"ada","priority":5,"queued":7,"leased":2)"));
  EXPECT_THAT(Get("/api/activity"), HasSubstr(R"("clock_mhz":1980.0)"));
  EXPECT_THAT(Get("/api/jobs/" + std::string(kJob)), HasSubstr(R"("schema":"mlc.tune/1")"));
  EXPECT_THAT(Get("/api/jobs/00000000000000000000000000000000"), StartsWith("HTTP/1.1 404"));
}

TEST_F(LivePageTest, FormsOfThePageChangeThings) {
  const std::string secret = Secret();
  ASSERT_EQ(secret.size(), 64U);
  const std::string own = "http://" + address_;
  EXPECT_THAT(Post("/cancel", "job=" + std::string(kJob) + "&secret=" + secret, own),
              StartsWith("HTTP/1.1 303"));
  EXPECT_THAT(Post("/drain", "worker=w%261&reason=fans&secret=" + secret, own),
              HasSubstr("Location: /worker?name=w%261"));
  EXPECT_THAT(Post("/release", "worker=w%261&secret=" + secret, own), StartsWith("HTTP/1.1 303"));
  EXPECT_THAT(source_.done(), ElementsAre("cancel " + std::string(kJob) + " by local",
                                          "drain w&1: fans", "release w&1"));
}

TEST_F(LivePageTest, ForgedRequestsChangeNothing) {
  const std::string form = "job=" + std::string(kJob) + "&secret=";
  const std::string good = form + Secret();
  const std::string own = "http://" + address_;
  EXPECT_THAT(Post("/cancel", good, ""), StartsWith("HTTP/1.1 403"));
  EXPECT_THAT(Post("/cancel", good, "http://evil.example"), StartsWith("HTTP/1.1 403"));
  EXPECT_THAT(Post("/cancel", good, "null"), StartsWith("HTTP/1.1 403"));
  EXPECT_THAT(Post("/cancel", form + std::string(64, '0'), own), StartsWith("HTTP/1.1 403"));
  EXPECT_THAT(Post("/cancel", form, own), StartsWith("HTTP/1.1 403"));
  EXPECT_THAT(Post("/cancel?" + good, "", own), StartsWith("HTTP/1.1 403"));
  EXPECT_THAT(Get("/cancel?" + good), StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(source_.done(), IsEmpty());
}

TEST_F(LivePageTest, AReadOnlyPageHasNoFormAndChangesNothing) {
  const std::string secret = Secret();
  PageOptions options;
  options.read_only = true;
  Start(options);
  EXPECT_EQ(Secret(), "");
  EXPECT_THAT(Get("/worker?name=w%261"), Not(HasSubstr("method=\"post\"")));
  EXPECT_THAT(
      Post("/cancel", "job=" + std::string(kJob) + "&secret=" + secret, "http://" + address_),
      StartsWith("HTTP/1.1 403"));
  EXPECT_THAT(source_.done(), IsEmpty());
}

TEST_F(LivePageTest, RequestsAreBounded) {
  const std::string large(size_t{20} << 10, 'a');
  const std::string host = "Host: " + address_ + "\r\n";
  EXPECT_THAT(Ask("GET /jobs", host + "X: " + large + "\r\n"), Not(StartsWith("HTTP/1.1 200")));
  std::string many;
  for (int i = 0; i < 3'000; ++i) many += "X-" + std::to_string(i) + ": y\r\n";
  EXPECT_THAT(Ask("GET /jobs", host + many), Not(StartsWith("HTTP/1.1 200")));
  EXPECT_THAT(Post("/cancel", "secret=" + large, "http://" + address_),
              Not(StartsWith("HTTP/1.1 3")));
  EXPECT_THAT(Get("/" + std::string(9'000, 'b')), Not(StartsWith("HTTP/1.1 200")));
  EXPECT_THAT(Get("/jobs"), StartsWith("HTTP/1.1 200"));
}

TEST_F(LivePageTest, AStreamTellsWhatChanges) {
  const std::string ask =
      "GET /events/jobs/" + std::string(kJob) + " HTTP/1.1\r\nHost: " + address_ + "\r\n\r\n";
  const transport::Descriptor stream = Send(ask);
  EXPECT_THAT(ReadTo(stream, "1 of 100"), HasSubstr("event: fragment"));
  source_.SetTrials(42);
  EXPECT_THAT(ReadTo(stream, "42 of 100"), HasSubstr("42 of 100"));
}

TEST_F(LivePageTest, OpenStreamsAreBounded) {
  PageOptions options;
  options.feed.most_of_one = 2;
  Start(options);
  const std::string ask = "GET /events/jobs HTTP/1.1\r\nHost: " + address_ + "\r\n\r\n";
  const transport::Descriptor one = Send(ask), two = Send(ask);
  EXPECT_THAT(ReadTo(one, "fragment"), HasSubstr("fragment"));
  EXPECT_THAT(ReadTo(two, "fragment"), HasSubstr("fragment"));
  EXPECT_THAT(Get("/events/jobs"), StartsWith("HTTP/1.1 429"));
  EXPECT_EQ(page_->streams(), 2);
  EXPECT_THAT(Get("/events/nothing"), StartsWith("HTTP/1.1 404"));
}

TEST(LivePageProtectionTest, OthersReachItOverTlsAlone) {
  FakeSource source;
  const OpenAccess access;
  PageOptions options;
  options.listen = "0.0.0.0:0";
  const auto page = LivePage::Start(
      options, source, access,
      std::make_shared<spdlog::logger>("test", std::make_shared<spdlog::sinks::null_sink_mt>()),
      std::make_shared<Metrics>());
  EXPECT_EQ(page.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(page.status().message(), HasSubstr("--tls-cert"));
}

}  // namespace
}  // namespace mlc::server::page
