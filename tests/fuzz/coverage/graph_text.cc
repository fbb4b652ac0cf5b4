// A graph or a workload as text: it is refused, or it prints to a fixed point, tells its cost and
// can be evaluated; what the passes make of a graph verifies.
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "compiler/graph/passes/pipeline.h"
#include "compiler/graph/workload.h"
#include "tests/fuzz/coverage/small_graph.h"

namespace mlc {
namespace {

// Longer graphs are a matter of the time that passes take, which other tests watch.
constexpr int kMostForPasses = 64;

void ReadWorkload(std::string_view text) {
  const Result<graph::Workload> workload = graph::Workload::Parse(text);
  if (!workload.ok()) return;
  const std::string printed = workload->ToText();
  const Result<graph::Workload> again = graph::Workload::Parse(printed);
  MLC_CHECK(again.ok()) << again.status().message() << "\n" << printed;
  MLC_CHECK(again->ToText() == printed && again->digest() == workload->digest()) << printed;
  MLC_CHECK(workload->Flops() >= 0 && workload->MinBytes() >= 0) << printed;
  MLC_CHECK(!workload->Summary().empty()) << printed;
}

void ReadGraph(std::string_view text) {
  Result<graph::Graph> graph = graph::Graph::Parse(text);
  if (!graph.ok()) return;
  const std::string printed = graph->ToText();
  const Result<graph::Graph> again = graph::Graph::Parse(printed);
  MLC_CHECK(again.ok()) << again.status().message() << "\n" << printed;
  MLC_CHECK(again->ToText() == printed) << printed;
  const Status verified = graph->Verify();
  MLC_CHECK(verified.ok()) << verified.message() << "\n" << printed;
  fuzz::EvaluateSmall(*graph);
  if (graph->size() > kMostForPasses) return;
  const auto reports = graph::RunPasses(*graph);
  MLC_CHECK(reports.ok()) << reports.status().message() << "\n" << printed;
  fuzz::EvaluateSmall(*graph);
}

}  // namespace
}  // namespace mlc

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  mlc::ReadWorkload(text);
  mlc::ReadGraph(text);
  return 0;
}
