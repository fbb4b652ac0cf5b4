// An ONNX file: whatever its bytes, it is refused in one line, or imported to a graph that verifies
// and, if it is small, can be evaluated. A survey finds an obstacle in what cannot be imported.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <string>

#include "base/check.h"
#include "compiler/graph/onnx/import.h"
#include "compiler/graph/onnx/survey.h"
#include "tests/fuzz/coverage/small_graph.h"

namespace mlc {
namespace {

// A file in memory: writing one on a disk for each input takes longer than reading it.
class ModelFile {
 public:
  ModelFile() : file_(memfd_create("model.onnx", MFD_CLOEXEC)) {
    MLC_CHECK(file_ >= 0);
    path_ = "/proc/self/fd/" + std::to_string(file_);
  }
  ~ModelFile() { close(file_); }
  ModelFile(const ModelFile&) = delete;
  ModelFile& operator=(const ModelFile&) = delete;

  const std::string& Write(const uint8_t* data, size_t size) const {
    MLC_CHECK(ftruncate(file_, 0) == 0);
    MLC_CHECK(pwrite(file_, data, size, 0) == static_cast<ssize_t>(size));
    return path_;
  }

 private:
  int file_;
  std::string path_;
};

graph::onnx::ImportOptions SmallOptions() {
  graph::onnx::ImportOptions options;
  options.bounded_shapes = true;
  options.max_nodes = 2'000;
  options.max_values = 20'000;
  return options;
}

bool IsOneLine(const std::string& text) {
  return !text.empty() && text.find('\n') == std::string::npos;
}

bool Import(const std::string& path, const graph::onnx::ImportOptions& options) {
  const Result<graph::Graph> graph = graph::onnx::ImportOnnx(path, options);
  if (!graph.ok()) {
    MLC_CHECK(IsOneLine(graph.status().message())) << graph.status().message();
    return false;
  }
  const Status verified = graph->Verify();
  MLC_CHECK(verified.ok()) << verified.message();
  fuzz::EvaluateSmall(*graph);
  return true;
}

void Survey(const std::string& path, const graph::onnx::ImportOptions& options, bool imported) {
  const Result<graph::onnx::ModelSurvey> survey = graph::onnx::SurveyOnnx(path, options);
  if (!survey.ok()) {
    MLC_CHECK(!imported && IsOneLine(survey.status().message())) << survey.status().message();
    return;
  }
  MLC_CHECK(imported == survey->obstacles.empty());
  for (const graph::onnx::Obstacle& obstacle : survey->obstacles) {
    MLC_CHECK(IsOneLine(obstacle.what) && IsOneLine(obstacle.why)) << obstacle.what;
  }
}

}  // namespace
}  // namespace mlc

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const mlc::ModelFile file;
  const std::string& path = file.Write(data, size);
  const mlc::graph::onnx::ImportOptions options = mlc::SmallOptions();
  mlc::Survey(path, options, mlc::Import(path, options));
  (void)mlc::graph::onnx::ListUnsupportedOperators(path);
  (void)mlc::graph::onnx::ReadTensorFile(path);
  return 0;
}
