#include "compiler/graph/onnx/import.h"

#include <algorithm>
#include <memory>

#include "compiler/graph/onnx/file.h"
#include "compiler/graph/onnx/importer.h"
#include "compiler/graph/onnx/parse.h"
#include "compiler/graph/onnx/preflight.h"
#include "compiler/graph/onnx/tables.h"

namespace mlc::graph::onnx {

Result<Graph> ImportOnnx(const std::string& path, const ImportOptions& options,
                         std::vector<MappedFileRef>* files) {
  const MappedFileRef file = MLC_TRY(OpenModelFile(path));
  const ModelMessage model = MLC_TRY(ParseModel(file->bytes(), ParseLimits{}));
  MLC_TRY(DefaultOpset(model.opsets, "the model"));
  const Preflight preflight = MLC_TRY(CheckModel(model, options.max_nodes));
  MLC_TRY(UnsupportedStatus(preflight.unsupported));
  ExternalFiles external(path);
  Graph graph = MLC_TRY(Importer(model, preflight.functions, file, external, options).Run());
  if (files != nullptr) {
    *files = external.Opened();
    files->push_back(file);
  }
  return graph;
}

Result<std::vector<UnsupportedOperator>> ListUnsupportedOperators(const std::string& path) {
  const MappedFileRef file = MLC_TRY(OpenModelFile(path));
  const ModelMessage model = MLC_TRY(ParseModel(file->bytes(), ParseLimits{}));
  Preflight preflight = MLC_TRY(CheckModel(model, ImportOptions{}.max_nodes));
  return std::move(preflight.unsupported);
}

std::vector<std::string> SupportedOperators() {
  std::vector<std::string> names = OperatorNames();
  names.emplace_back("If");
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace mlc::graph::onnx
