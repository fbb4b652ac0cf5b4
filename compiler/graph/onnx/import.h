// ONNX file to graph. The file is mapped and its weights are never copied: the graph's tensor data
// point into the mapping, which lives as long as they do. A model is hostile input: every size is
// bounded, external data stays beneath the model's directory, and no text of the model reaches
// anything but messages and port names. Operator sets 7 to 28 (older ones where the
// operators did not change); shapes become static here. Thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "compiler/graph/graph.h"

namespace mlc::graph::onnx {

class Folds;
class MappedFile;

struct ImportOptions {
  // Sizes of symbolic dimensions by name; an unnamed one is "INPUT:AXIS". A name that the model
  // does not have is an error.
  std::map<std::string, int64_t> dims;
  // Dimensions without a size that are sums of others with one. ImportOnnx finds those that are
  // missing (FindDimSums).
  std::map<std::string, std::vector<std::string>> sums;
  // Inputs with known values. They become constants instead of inputs of the graph.
  std::map<std::string, TensorDataRef> bound_inputs;
  // Results whose shape depends on data have room for the most elements that there may be. Without
  // it, operators with such results are an error.
  bool bounded_shapes = false;
  // Elements that there are instead of the most, by dimension (CountedShape); those that are
  // missing have the most.
  std::vector<int64_t> counted_lengths;
  // Nodes after functions are inlined, and graph values after operators are decomposed.
  int64_t max_nodes = 400'000;
  int64_t max_values = 2'000'000;
  // Most bytes of decoded weights (see DecodedWeights).
  int64_t max_decoded_bytes = int64_t{1} << 36;
  // Of several reads of a model at different sizes (folds.h); null: of this one alone.
  std::shared_ptr<Folds> folds = nullptr;
};

// The name of the graph's last output if shapes of the model depend on data: i64, a count for each
// dimension whose length a run decides.
inline constexpr char kCountsOutput[] = "counts";

// A dimension whose length depends on data.
struct CountedShape {
  std::string name;    // of the node that decides it, fit for printing
  int64_t most = 0;    // elements that there may be
  int64_t length = 0;  // elements in this import
};

// Imports a model. Each error is one line that names the tensor or node: INVALID_ARGUMENT for a
// broken or hostile file or wrong options; UNIMPLEMENTED for a valid model that we cannot lower
// (lists all unsupported operators, before any work); NOT_FOUND if there is no file. The result
// verifies. `files`, if given, receives the mappings that the tensor data point into; `counted` the
// dimensions whose length depends on data, in the order of their counts.
Result<Graph> ImportOnnx(const std::string& path, const ImportOptions& options,
                         std::vector<std::shared_ptr<const MappedFile>>* files = nullptr,
                         std::vector<CountedShape>* counted = nullptr);

// What the one dimension of inputs without a size may be, such as the keys of a cache with the new
// ones: sums of two others that make outputs as long as the model declares, by its name or by the
// spelt sum. Empty: no sum does, or another number of dimensions has no size.
// Errors as ImportOnnx's for broken files.
Result<std::vector<std::map<std::string, std::vector<std::string>>>> FindDimSums(
    const std::string& path, const ImportOptions& options);

// An operator that the importer cannot lower, and where the model uses it.
struct UnsupportedOperator {
  std::string name;    // "TopK", or "domain:Name"
  std::string domain;  // empty: the default one
  std::string op_type;
  std::vector<std::string> nodes;  // the first ones, by name, fit for printing
  int64_t count = 0;
};

// Empty if every operator is known. Errors as ImportOnnx's for broken files.
Result<std::vector<UnsupportedOperator>> ListUnsupportedOperators(const std::string& path);

// What a model says of an input, also of one that has an initializer. The name is as in the file.
struct DeclaredInput {
  std::string name;
  DType dtype = DType::kF32;
  std::optional<std::vector<int64_t>> dims;  // -1: any size; none: the rank is not known either
};

// The inputs in order, without those of types that the graph does not have. Errors as ImportOnnx's
// for broken files.
Result<std::vector<DeclaredInput>> DeclaredInputs(const std::string& path);

// Reads a tensor from a TensorProto file: test data, or an input of the command line.
Result<TensorDataRef> ReadTensorFile(const std::string& path);
// The number of the element type in TensorProto.DataType, and the bytes of its field raw_data.
std::pair<int32_t, std::string> StoredForm(const TensorData& data);

// Every operator of the default domain that the importer lowers, sorted.
std::vector<std::string> SupportedOperators();

}  // namespace mlc::graph::onnx
