// A log's export: each line is refused with its number, or read, and what was read is exported to
// the same again.
#include <cstdint>
#include <sstream>
#include <string>

#include "base/check.h"
#include "db/confirmed_best.h"
#include "db/json_lines.h"
#include "tests/support/db/memory_log.h"

namespace mlc {
namespace {

std::string ExportOf(const db::TuningLog& log) {
  std::ostringstream out;
  const Status status = db::Export(log, out);
  MLC_CHECK(status.ok()) << status.message();
  return out.str();
}

}  // namespace
}  // namespace mlc

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace mlc;
  std::istringstream in(std::string(reinterpret_cast<const char*>(data), size));
  const std::unique_ptr<db::TuningLog> log = db::MakeMemoryLog();
  const Result<db::ImportCounts> counts = db::Import(in, *log);
  if (!counts.ok()) MLC_CHECK(!counts.status().message().empty());
  // What came before a line that is refused stays.
  const std::string text = ExportOf(*log);
  std::istringstream exported(text);
  const std::unique_ptr<db::TuningLog> copy = db::MakeMemoryLog();
  const Result<db::ImportCounts> again = db::Import(exported, *copy);
  MLC_CHECK(again.ok()) << again.status().message() << "\n" << text;
  MLC_CHECK(ExportOf(*copy) == text) << text;
  return 0;
}
