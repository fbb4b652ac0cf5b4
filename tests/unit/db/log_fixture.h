// A fresh folder per test, and records to put into logs there.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>

#include "db/sqlite/sqlite_log.h"

namespace mlc::db {

class LogFixture : public ::testing::Test {
 protected:
  LogFixture() {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    std::string name = std::string(info->test_suite_name()) + "-" + info->name();
    std::replace(name.begin(), name.end(), '/', '-');
    folder_ = ::testing::TempDir() + "/mlc-db-" + name;
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~LogFixture() override { std::filesystem::remove_all(folder_); }

  std::string Path(const std::string& name) const { return folder_ + "/" + name; }

  static WorkloadRow TheWorkload() {
    const std::string text = "workload v1 of tests";
    return {mlc::DigestOf(std::string_view(text)), text, "matmul 8x8x8"};
  }
  static Record MakeRecord(int n, double median = 100) {
    Record record;
    record.task_uid = mlc::DigestOf("uid " + std::to_string(n));
    record.workload = TheWorkload().key;
    record.target = "cpu";
    record.config = "contraction/1 mr=" + std::to_string(n);
    record.measurement.outcome = Outcome::kOk;
    record.measurement.median_ns = median;
    record.measurement.p10_ns = median;
    record.measurement.p90_ns = median;
    record.measurement.runs = 9;
    record.arm = "seed";
    record.created_us = 1'000'000 + n;
    return record;
  }
  // Writes records first .. first+count-1.
  static void Fill(const std::string& path, int first, int count) {
    auto log = OpenSqliteLog(path);
    ASSERT_TRUE(log.ok()) << log.status().ToString();
    ASSERT_TRUE((*log)->AddWorkload(TheWorkload()).ok());
    for (int n = first; n < first + count; ++n) (*log)->Append(MakeRecord(n), [](const auto&) {});
    ASSERT_TRUE((*log)->Flush().ok());
  }

  std::string folder_;
};

}  // namespace mlc::db
