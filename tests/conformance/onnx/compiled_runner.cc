#include "tests/conformance/onnx/compiled_runner.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>

#include "client/model/model_library.h"
#include "client/target/target_choice.h"
#include "compiler/front/front.h"

namespace mlc::graph::onnx {

namespace fs = std::filesystem;

Result<std::vector<TensorDataRef>> CompiledRunner::Run(const std::string& model,
                                                       const ImportOptions& import,
                                                       const std::vector<TensorDataRef>& sources) {
  const Program program =
      MLC_TRY(front::CompileFront(model, import, front::ForTarget({}, target_)));
  package::LibraryOptions options;
  options.directory = folder_ / std::to_string(count_++);
  options.name = "node";
  Result<std::vector<TensorDataRef>> outputs = RunLibrary(program, options, sources);
  std::error_code ignored;
  fs::remove_all(options.directory, ignored);
  return outputs;
}

Result<std::vector<TensorDataRef>> CompiledRunner::RunLibrary(
    const Program& program, const package::LibraryOptions& options,
    const std::vector<TensorDataRef>& sources) {
  const std::vector<package::Choice> choices =
      MLC_TRY(client::ChooseFrom(program, target_, nullptr, client::Transfer::kIgnore));
  MLC_TRY(package::WriteLibrary(program, choices, target_, options));
  const std::unique_ptr<client::ModelLibrary> library =
      MLC_TRY(client::ModelLibrary::Open(options.directory, 1));
  MLC_TRY(library->SetInputs(sources));
  MLC_TRY(library->Run());
  return library->Outputs();
}

Result<TierScores> RunLibraries(const std::string& roots, const std::string& report,
                                const std::string& only) {
  const target::Target target = MLC_TRY(client::ChooseTarget("cpu", 1));
  const fs::path folder =
      fs::path(testing::TempDir()) / ("onnx_libraries." + std::to_string(getpid()));
  CompiledRunner runner(folder, target);
  const auto run = [&](const std::string& model, const ImportOptions& import,
                       const std::vector<TensorDataRef>& sources) {
    return runner.Run(model, import, sources);
  };
  Result<TierScores> scores =
      RunCases(roots, std::string(MLC_BINARY_DIR) + "/" + report, run, only);
  std::error_code ignored;
  fs::remove_all(folder, ignored);
  return scores;
}

}  // namespace mlc::graph::onnx
