// Runs models as users do: each is compiled for this machine's CPU as mlc-compile does it, with
// default configs, loaded from its folder, run and removed. Forks; not thread-safe.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/status.h"
#include "client/compile/choose_kernels.h"
#include "compiler/package/library.h"
#include "tests/conformance/onnx/onnx_case.h"

namespace mlc::graph::onnx {

class CompiledRunner {
 public:
  // Libraries are written below `folder`, each into a folder of its own: the loader knows a library
  // by its file.
  CompiledRunner(std::filesystem::path folder, target::Target target)
      : folder_(std::move(folder)), target_(std::move(target)) {}

  // A ModelRunner.
  Result<std::vector<TensorDataRef>> Run(const std::string& model, const ImportOptions& import,
                                         const std::vector<TensorDataRef>& sources);

 private:
  Result<std::vector<TensorDataRef>> RunLibrary(const Program& program,
                                                const package::LibraryOptions& options,
                                                const std::vector<TensorDataRef>& sources);

  std::filesystem::path folder_;
  target::Target target_;
  int count_ = 0;
};

// RunCases by libraries; the report is a file in the build folder.
Result<TierScores> RunLibraries(const std::string& roots, const std::string& report,
                                const std::string& only = {});

}  // namespace mlc::graph::onnx
