// An ONNX file: whatever its bytes, it is refused in one line, or imported to a graph that verifies
// and, if it is small, can be evaluated.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <string>

#include "base/check.h"
#include "compiler/graph/onnx/import.h"
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

void Import(const std::string& path) {
  graph::onnx::ImportOptions options;
  options.max_nodes = 2'000;
  options.max_values = 20'000;
  const Result<graph::Graph> graph = graph::onnx::ImportOnnx(path, options);
  if (!graph.ok()) {
    const std::string& message = graph.status().message();
    MLC_CHECK(!message.empty() && message.find('\n') == std::string::npos) << message;
    return;
  }
  const Status verified = graph->Verify();
  MLC_CHECK(verified.ok()) << verified.message();
  fuzz::EvaluateSmall(*graph);
}

}  // namespace
}  // namespace mlc

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const mlc::ModelFile file;
  const std::string& path = file.Write(data, size);
  mlc::Import(path);
  (void)mlc::graph::onnx::ListUnsupportedOperators(path);
  (void)mlc::graph::onnx::ReadTensorFile(path);
  return 0;
}
