#include "compiler/graph/onnx/import.h"

#include <algorithm>
#include <memory>

#include "compiler/graph/onnx/dim_sums.h"
#include "compiler/graph/onnx/file.h"
#include "compiler/graph/onnx/importer.h"
#include "compiler/graph/onnx/parse.h"
#include "compiler/graph/onnx/preflight.h"
#include "compiler/graph/onnx/tables.h"
#include "compiler/graph/onnx/tensor.h"

namespace mlc::graph::onnx {

Result<Graph> ImportOnnx(const std::string& path, const ImportOptions& options,
                         std::vector<MappedFileRef>* files, std::vector<CountedShape>* counted) {
  const MappedFileRef file = MLC_TRY(OpenModelFile(path));
  const ModelMessage model = MLC_TRY(ParseModel(file->bytes(), ParseLimits{}));
  MLC_TRY(DefaultOpset(model.opsets, "the model"));
  const Preflight preflight = MLC_TRY(CheckModel(model, options.max_nodes));
  MLC_TRY(UnsupportedStatus(preflight.unsupported));
  ExternalFiles external(path);
  ImportOptions with_sums = options;
  if (options.sums.empty()) {
    const auto sums = FindSums(model, preflight.functions, file, external, options);
    if (!sums.empty()) with_sums.sums = sums.front();  // any of them has the size
  }
  if (options.folds != nullptr) options.folds->Begin();
  Importer importer(model, preflight.functions, file, external, with_sums);
  Graph graph = MLC_TRY(importer.Run(counted));
  if (files != nullptr) {
    *files = external.Opened();
    files->push_back(file);
  }
  return graph;
}

Result<std::vector<DimSum>> FindDimSums(const std::string& path, const ImportOptions& options) {
  const MappedFileRef file = MLC_TRY(OpenModelFile(path));
  const ModelMessage model = MLC_TRY(ParseModel(file->bytes(), ParseLimits{}));
  const Preflight preflight = MLC_TRY(CheckModel(model, options.max_nodes));
  MLC_TRY(UnsupportedStatus(preflight.unsupported));
  ExternalFiles external(path);
  return FindSums(model, preflight.functions, file, external, options);
}

Result<std::vector<UnsupportedOperator>> ListUnsupportedOperators(const std::string& path) {
  const MappedFileRef file = MLC_TRY(OpenModelFile(path));
  const ModelMessage model = MLC_TRY(ParseModel(file->bytes(), ParseLimits{}));
  Preflight preflight = MLC_TRY(CheckModel(model, ImportOptions{}.max_nodes));
  return std::move(preflight.unsupported);
}

Result<std::vector<DeclaredInput>> DeclaredInputs(const std::string& path) {
  const MappedFileRef file = MLC_TRY(OpenModelFile(path));
  const ModelMessage model = MLC_TRY(ParseModel(file->bytes(), ParseLimits{}));
  std::vector<DeclaredInput> inputs;
  for (const ValueMessage& input : model.graph.inputs) {
    const Result<DType> dtype = DTypeOf(input.elem_type);
    if (!input.is_tensor || !dtype.ok()) continue;
    DeclaredInput declared{std::string(input.name), *dtype, {}};
    if (input.has_shape) {
      declared.dims.emplace();
      for (const DimMessage& dim : input.dims) {
        declared.dims->push_back(dim.has_value && dim.value >= 0 ? dim.value : -1);
      }
    }
    inputs.push_back(std::move(declared));
  }
  return inputs;
}

std::vector<std::string> SupportedOperators() {
  std::vector<std::string> names = OperatorNames();
  names.emplace_back("If");
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace mlc::graph::onnx
