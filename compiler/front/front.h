// The compiler front end in one call: from a model file to a Program. It runs import, logical
// passes, physical passes, partition and memory planning, with hooks that show each stage.
// Thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "compiler/graph/graph.h"
#include "compiler/graph/onnx/import.h"
#include "compiler/graph/passes/decode_weights.h"
#include "compiler/graph/passes/precision.h"
#include "compiler/graph/physical/place_rules.h"
#include "compiler/graph/program.h"
#include "compiler/target/target.h"

namespace mlc::front {

struct FrontOptions {
  // The element type that the model computes in; its inputs and outputs keep theirs.
  graph::Precision precision = graph::Precision::kModel;
  // Largest admissible |difference| over the largest |reference| of a task's output. 0: no
  // approximate algorithm; empty: the tolerance of the precision.
  std::optional<double> tolerance;
  // The requirements of the device on operands; see ForTarget.
  graph::PlaceRules rules;
  // True to pad images of few channels to the size of a GPU's copies.
  bool pad_channels = false;
  // True if attention computes causal masks instead of reading them.
  bool computes_masks = false;
  // Products of dequantised values are computed in integers; other precisions than the model's
  // compute in floats.
  bool multiplies_bytes = false;
  // The same of convolutions with one filter for each channel.
  bool multiplies_byte_filters = false;
  // Products of dequantised float8 values are products of float8, in models that compute in narrow
  // floats.
  bool multiplies_float8 = false;
  // The weights of few bits that products read as they are packed. Other precisions than the
  // model's decode all of them, unless kernels read those of f16 and bf16 alone.
  graph::PackedReads packed_reads;
  // The model takes ranges of sizes: attention reads no more keys than there are, and values keep
  // their order (PlaceRules::keeps_order).
  bool takes_ranges = false;
  // Names of logical passes, integer_products, float8_products, float8_weights, merge_scales,
  // causal_masks, pad_channels or fuse_residuals, to leave out.
  std::set<std::string, std::less<>> skip;
  // Names of passes, logical or physical, after which `print` sees the graph; "all" is every one.
  std::set<std::string, std::less<>> print_after;
  std::function<void(std::string_view pass, const graph::Graph&)> print;
};

// The passes that ran, in order, for --verbose.
struct PassTrace {
  struct Entry {
    std::string pass;
    bool changed = false;  // physical passes before the cut into tasks always rewrite
    double milliseconds = 0;
    int values = 0;  // in the graph afterwards
    std::vector<std::string> notes =
        {};  // what the pass left alone, and why, for people; a line each
  };
  std::vector<Entry> entries;

  // Of all entries.
  std::vector<std::string> Notes() const;
};

// The names of all passes in order, for --print-after; a name may occur more than once.
std::vector<std::string> PassNames();

// `options` for kernels of the target, by its backend's rules.
FrontOptions ForTarget(FrontOptions options, const target::Target& target);
// The tolerance of the tasks.
double ToleranceOf(const FrontOptions& options);

// The logical part alone: the graph that --emit=graph shows. INVALID_ARGUMENT for unknown names.
Result<graph::Graph> SimplifyGraph(graph::Graph graph, const FrontOptions& options,
                                   PassTrace* trace = nullptr);

// Builds the program of an imported graph. `trace` may be null; entries are appended.
Result<graph::Program> BuildProgram(graph::Graph graph, const FrontOptions& options,
                                    PassTrace* trace = nullptr);

// A model as imported. Its weights are in the mapped files; copies share them.
struct Model {
  graph::Graph graph;
  std::vector<std::shared_ptr<const graph::onnx::MappedFile>> files;
  graph::CountedOutputs counted = {};
  bool takes_ranges = false;  // ranged_model.h
};
// With results whose shape depends on data as far as their most elements (bounded_model.h). Errors
// as ImportOnnx's; UNIMPLEMENTED if such a result is read where its length matters too much.
Result<Model> ReadModel(const std::string& path, const graph::onnx::ImportOptions& import);
// BuildProgram, then releases the memory of the file's pages. To compile a model several times,
// pass copies.
Result<graph::Program> CompileModel(Model model, const FrontOptions& options,
                                    PassTrace* trace = nullptr);

// From the file. Errors as ImportOnnx's and BuildProgram's.
Result<graph::Program> CompileFront(const std::string& model_path,
                                    const graph::onnx::ImportOptions& import,
                                    const FrontOptions& options, PassTrace* trace = nullptr);

}  // namespace mlc::front
