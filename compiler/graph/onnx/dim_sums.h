// Dimensions whose size follows from those of others, such as the length of a cache after a step:
// past + sequence. Internal to the importer. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compiler/graph/onnx/file.h"
#include "compiler/graph/onnx/import.h"
#include "compiler/graph/onnx/model.h"
#include "compiler/graph/onnx/preflight.h"

namespace mlc::graph::onnx {

using DimSum = std::map<std::string, std::vector<std::string>>;

// The size that the options give to a name: its own, that of its sum, or of one that the name
// spells, as in "past + sequence" or "past + 1". `used` receives the names that have given it.
std::optional<int64_t> SizeOfName(const std::string& name, const ImportOptions& options,
                                  std::set<std::string, std::less<>>& used);

// The name of a dimension without a size: its own, or that of the input and the axis.
std::string NameOfDim(const ValueMessage& input, size_t axis);
// INVALID_ARGUMENT that says which symbolic dimensions the model has instead of `name`.
Status NoDimOf(const std::string& name, const ModelMessage& model);
// NoDimOf the first name of the options that no dimension of the model's inputs refers to.
Status CheckDimNames(const ModelMessage& model, const ImportOptions& options);

// As FindDimSums of import.h, of a parsed model.
std::vector<DimSum> FindSums(const ModelMessage& model, const FunctionTable& functions,
                             const MappedFileRef& file, ExternalFiles& files,
                             const ImportOptions& options);

}  // namespace mlc::graph::onnx
