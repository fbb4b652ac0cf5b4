#include "server/metrics/metrics.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

namespace mlc::server {
namespace {

using ::testing::HasSubstr;

std::string Scrape(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::string answer;
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0) {
    const std::string ask = "GET /metrics HTTP/1.0\r\n\r\n";
    (void)send(fd, ask.data(), ask.size(), 0);
    char part[4096];
    for (ssize_t n; (n = recv(fd, part, sizeof(part), 0)) > 0;) {
      answer.append(part, static_cast<size_t>(n));
    }
  }
  close(fd);
  return answer;
}

TEST(MetricsTest, CountsWhatItIsTold) {
  Metrics metrics;
  metrics.Add(Counter::kLeasesExpired);
  metrics.Add(Counter::kLeasesExpired, 2);
  metrics.Set(Gauge::kTrialsQueued, 7);
  metrics.Observe(Span::kCommit, 0.004);
  metrics.AddResult(Outcome::kBuildTimeout);
  metrics.AddRejected("denied");
  metrics.SetWorkers("busy", 3);
  const std::string text = metrics.Text();
  EXPECT_THAT(text, HasSubstr("mlc_server_leases_expired_total 3"));
  EXPECT_THAT(text, HasSubstr("mlc_server_trials_queued 7"));
  EXPECT_THAT(text, HasSubstr("mlc_server_commit_duration_seconds_bucket{le=\"0.005\"} 1"));
  EXPECT_THAT(text, HasSubstr("mlc_server_commit_duration_seconds_bucket{le=\"0.002\"} 0"));
  EXPECT_THAT(text, HasSubstr("mlc_server_results_total{outcome=\"build_timeout\"} 1"));
  EXPECT_THAT(text, HasSubstr("mlc_server_rejected_total{reason=\"denied\"} 1"));
  EXPECT_THAT(text, HasSubstr("mlc_server_workers{state=\"busy\"} 3"));
}

TEST(MetricsTest, AnswersScrapesOnItsOwnPort) {
  Metrics metrics;
  EXPECT_EQ(metrics.port(), 0);
  ASSERT_TRUE(metrics.Serve("127.0.0.1:0").ok());
  metrics.Add(Counter::kJobsSubmitted, 5);
  EXPECT_THAT(Scrape(metrics.port()), HasSubstr("mlc_server_jobs_submitted_total 5"));
  Metrics second;
  const Status taken = second.Serve("127.0.0.1:" + std::to_string(metrics.port()));
  EXPECT_EQ(taken.code(), StatusCode::kUnavailable);
  EXPECT_THAT(taken.message(), HasSubstr("--metrics"));
}

}  // namespace
}  // namespace mlc::server
