#include "server/fleet/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/exit_code.h"

namespace mlc::server::fleet {
namespace {

using ::testing::HasSubstr;

TEST(FleetConfigTest, ReadsEverySetting) {
  const auto config = ParseFleetConfig(Kind::kSlurm, R"({
    "name": "lab", "server": "tuner.lab:7650", "poll_s": 0.5, "slurm_bin": "/opt/slurm/bin",
    "slurm_conf": "/etc/slurm/slurm.conf", "slurm_user": "mlc", "command_timeout_s": 5, "pools": [
      {"name": "h200", "device": "cuda", "min": 1, "max": 4, "trials_per_worker": 32,
       "starts_per_round": 2, "idle_s": 60, "start_timeout_s": 90, "lost_s": 15, "drain_s": 30,
       "stable_s": 10, "first_backoff_s": 1, "longest_backoff_s": 20,
       "memory_mib": 140000,
       "worker": ["/opt/mlc/bin/mlc-worker", "--target", "cuda", "--allow-user-kernels"],
       "slurm": {"script": "worker.sbatch", "partition": "gpu", "gres": "gpu:1",
                 "time_limit_s": 3600, "warning_s": 120, "output": "/var/log/%j",
                 "options": ["--qos=low"]}},
      {"name": "cpu", "classes": ["target v1 cpu * isa=avx512 *"], "slurm": {"script": "w"}}]})");
  ASSERT_TRUE(config.ok()) << config.status().ToString();
  EXPECT_EQ(config->poll_ms, 500);
  EXPECT_EQ(config->slurm_bin, "/opt/slurm/bin");
  EXPECT_EQ(config->slurm_user, "mlc");
  const PoolConfig& pool = config->pools[0];
  EXPECT_THAT(pool.terms.declared.classes, ::testing::ElementsAre("target v1 cuda *"));
  EXPECT_EQ(pool.terms.declared.memory_bytes, int64_t{140'000} << 20);
  EXPECT_TRUE(pool.terms.declared.user_kernels);
  EXPECT_EQ(pool.terms.max, 4);
  EXPECT_EQ(pool.terms.idle_ms, 60'000);
  EXPECT_EQ(pool.terms.longest_backoff_ms, 20'000);
  EXPECT_EQ(pool.slurm.time_limit_s, 3600);
  EXPECT_EQ(pool.slurm.warning_s, 120);
  EXPECT_THAT(pool.slurm.options, ::testing::ElementsAre("--qos=low"));
  const DeclaredAbilities& other = config->pools[1].terms.declared;
  EXPECT_THAT(other.classes, ::testing::ElementsAre("target v1 cpu * isa=avx512 *"));
  EXPECT_EQ(other.memory_bytes, 0);
  EXPECT_FALSE(other.user_kernels);
}

struct BadCase {
  Kind kind;
  const char* text;
  const char* complaint;
};
class BadConfigTest : public ::testing::TestWithParam<BadCase> {};

TEST_P(BadConfigTest, IsRefusedWithThePlace) {
  const auto config = ParseFleetConfig(GetParam().kind, GetParam().text);
  ASSERT_FALSE(config.ok());
  EXPECT_EQ(static_cast<int>(ExitCodeOf(config.status())), 78);
  EXPECT_THAT(config.status().message(), HasSubstr(GetParam().complaint));
}

INSTANTIATE_TEST_SUITE_P(
    Texts, BadConfigTest,
    ::testing::Values(
        BadCase{Kind::kLocal, "", "is not JSON"}, BadCase{Kind::kLocal, "[]", "expected an object"},
        BadCase{Kind::kLocal, "{}", "pools: expected a list"},
        BadCase{Kind::kLocal, R"({"pools": []})", "pools: expected a list"},
        BadCase{Kind::kLocal, R"({"pols": [], "pools": []})", "file.pols: there is no such"},
        BadCase{Kind::kLocal, R"({"pools": [{}]})", "pools[0].name: expected 1 to 32"},
        BadCase{Kind::kLocal, R"({"pools": [{"name": "a-b"}]})", "pools[0].name"},
        BadCase{Kind::kLocal, R"({"pools": [{"name": "a"}, {"name": "a"}]})", "another pool's"},
        BadCase{Kind::kLocal, R"({"pools": [{"name": "a", "max": -1}]})", "pools[0].max: expected"},
        BadCase{Kind::kLocal, R"({"pools": [{"name": "a", "max": 1.5}]})", "pools[0].max"},
        BadCase{Kind::kLocal, R"({"pools": [{"name": "a", "max": 1e99}]})", "pools[0].max"},
        BadCase{Kind::kLocal, R"({"pools": [{"name": "a", "max": 99999999999999999999}]})",
                "pools[0].max"},
        BadCase{Kind::kLocal, R"({"pools": [{"name": "a", "min": 3}]})", "is more than max"},
        BadCase{Kind::kLocal, R"({"pools": [{"name": "a", "idle_s": "1"}]})", "idle_s"},
        BadCase{Kind::kLocal, R"({"pools": [{"name": "a", "lost_s": 0}]})", "lost_s"},
        BadCase{Kind::kLocal, R"({"pools": [{"name": "a", "device": "tpu"}]})", "device"},
        BadCase{Kind::kLocal, R"({"pools": [{"name": "a", "worker": "x"}]})", "list of texts"},
        BadCase{Kind::kLocal, R"({"poll_s": 0, "pools": [{"name": "a"}]})", "poll_s"},
        BadCase{Kind::kExec, R"({"pools": [{"name": "a"}]})", "command: is needed"},
        BadCase{Kind::kSlurm, R"({"pools": [{"name": "a"}]})", "pools[0].slurm: is needed"},
        BadCase{Kind::kSlurm, R"({"pools": [{"name": "a", "slurm": {}}]})", "slurm.script"},
        BadCase{Kind::kSlurm, R"({"pools": [{"name": "a", "slurm": {"script": "s", "x": 1}}]})",
                "slurm.x: there is no such"}));

TEST(FleetConfigTest, LocalAndStaticNeedNoFileTheOthersDo) {
  EXPECT_TRUE(LoadFleetConfig(Kind::kLocal, "").ok());
  EXPECT_TRUE(LoadFleetConfig(Kind::kStatic, "").ok());
  EXPECT_THAT(LoadFleetConfig(Kind::kSlurm, "").status().message(), HasSubstr("--fleet-config"));
  EXPECT_THAT(LoadFleetConfig(Kind::kExec, "/nowhere/x").status().message(),
              HasSubstr("cannot be read"));
}

TEST(FleetConfigTest, TheOneForKubernetesIsRead) {
  const auto config = LoadFleetConfig(Kind::kExec, MLC_SOURCE_DIR "/deploy/kubernetes/fleet.json");
  ASSERT_TRUE(config.ok()) << config.status().ToString();
  EXPECT_FALSE(config->server.empty());
  EXPECT_EQ(config->pools.size(), 1u);
}

TEST(FleetConfigTest, TheErrorNamesTheFile) {
  const std::string path = ::testing::TempDir() + "/mlc-fleet-config-test.json";
  std::ofstream(path) << "{]";
  EXPECT_THAT(LoadFleetConfig(Kind::kLocal, path).status().message(), HasSubstr(path));
  std::remove(path.c_str());
}

}  // namespace
}  // namespace mlc::server::fleet
