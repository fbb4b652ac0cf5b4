#include "server/logging/logging.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <ctime>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "server/logging/log_file.h"
#include "server/logging/log_text.h"

namespace mlc::server {
namespace {

constexpr char kTextPattern[] = "%Y-%m-%dT%H:%M:%S.%e%z %l %v";

class TextFormatter : public spdlog::formatter {
 public:
  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& out) override {
    const std::string line =
        OneLine(std::string_view(message.payload.data(), message.payload.size()));
    spdlog::details::log_msg clean = message;
    clean.payload = line;
    pattern_.format(clean, out);
  }
  std::unique_ptr<spdlog::formatter> clone() const override {
    return std::make_unique<TextFormatter>();
  }

 private:
  spdlog::pattern_formatter pattern_{kTextPattern};
};

class JsonFormatter : public spdlog::formatter {
 public:
  explicit JsonFormatter(std::string program) : program_(std::move(program)) {}
  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& out) override {
    const auto level = spdlog::level::to_string_view(message.level);
    const std::string line =
        ToJsonLine(TimeText(message.time), std::string(level.data(), level.size()), program_,
                   std::string(message.payload.data(), message.payload.size())) +
        "\n";
    out.append(line.data(), line.data() + line.size());
  }
  std::unique_ptr<spdlog::formatter> clone() const override {
    return std::make_unique<JsonFormatter>(program_);
  }

 private:
  static std::string TimeText(spdlog::log_clock::time_point time) {
    const auto ms =
        std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
    const auto seconds = static_cast<std::time_t>(ms / 1000);
    std::tm broken = {};
    gmtime_r(&seconds, &broken);
    char day[32];
    std::strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &broken);
    char text[48];
    (void)snprintf(text, sizeof(text), "%s.%03dZ", day, static_cast<int>(ms % 1000));
    return text;
  }

  const std::string program_;
};

}  // namespace

std::string ToJsonLine(const std::string& time, const std::string& level,
                       const std::string& program, const std::string& message) {
  static const std::set<std::string> kFields = {"job", "task", "worker", "caller", "rpc"};
  nlohmann::ordered_json line = {
      {"time", time}, {"level", level}, {"program", program}, {"message", message}};
  std::istringstream words(message);
  std::string word;
  while (words >> word) {
    const size_t equals = word.find('=');
    if (equals == std::string::npos || !kFields.contains(word.substr(0, equals))) continue;
    std::string value = word.substr(equals + 1);
    while (!value.empty() && (value.back() == ':' || value.back() == ',')) value.pop_back();
    if (!line.contains(word.substr(0, equals))) line[word.substr(0, equals)] = value;
  }
  return line.dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace);
}

Result<std::shared_ptr<spdlog::logger>> MakeLogger(const LogOptions& options) {
  spdlog::sink_ptr sink;
  if (options.file.empty()) {
    sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  } else {
    Result<spdlog::sink_ptr> file = OpenLogFile(options.file);
    if (!file.ok()) return file.status().WithPrefix("--log-file");
    sink = *std::move(file);
  }
  auto logger = std::make_shared<spdlog::logger>(options.program, std::move(sink));
  if (options.format == "json") {
    logger->set_formatter(std::make_unique<JsonFormatter>(options.program));
  } else {
    logger->set_formatter(std::make_unique<TextFormatter>());
  }
  logger->set_level(spdlog::level::from_str(options.level));
  logger->flush_on(spdlog::level::info);
  return logger;
}

}  // namespace mlc::server
