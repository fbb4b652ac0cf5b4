// One case of the ONNX backend test data: a model, its inputs and its expected outputs in files.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/graph/graph.h"
#include "compiler/graph/onnx/import.h"

namespace mlc::graph::onnx {

struct OnnxCase {
  std::string group;
  std::string name;
  std::string op;
  int tier = 0;
  std::vector<std::string> flags;  // as in the manifest
  std::filesystem::path directory;

  bool Has(const std::string& flag) const;
  // Inputs that the manifest says to bind as constants.
  std::vector<std::string> BoundInputs() const;
};

// The rows of `root`/MANIFEST.tsv.
Result<std::vector<OnnxCase>> ReadManifest(const std::filesystem::path& root);

// Runs a model: `sources` are the values of the inputs that `import` does not bind, in order.
using ModelRunner = std::function<Result<std::vector<TensorDataRef>>(
    const std::string& model, const ImportOptions& import,
    const std::vector<TensorDataRef>& sources)>;

// By the importer and the reference evaluator.
Result<std::vector<TensorDataRef>> EvaluateModel(const std::string& model,
                                                 const ImportOptions& import,
                                                 const std::vector<TensorDataRef>& sources);

// Runs the model and compares every output: the type and shape exactly, floats within the tolerance
// of their type. Inputs that shape the graph are bound: the ones that the manifest names, or all of
// type i64 and i32 where it names too few.
Status RunCase(const OnnxCase& test, const ModelRunner& run = EvaluateModel);

struct Score {
  int passed = 0;
  int total = 0;
  double Rate() const { return total == 0 ? 1.0 : static_cast<double>(passed) / total; }
};

struct TierScores {
  std::map<int, Score> all;
  std::map<int, Score> clean;  // without types of few bits, and without doubtful expectations

  // Of tiers 1 to `last` together.
  static Score Sum(const std::map<int, Score>& scores, int last);
};

// Runs the cases of all folders that `roots` names, separated by ':'. Writes those that fail, each
// with its reason, to the file `report`, and a line a tier to standard output. `only`, if not
// empty, is a part of the names of the cases to run.
Result<TierScores> RunCases(const std::string& roots, const std::string& report,
                            const ModelRunner& run, const std::string& only = {});

}  // namespace mlc::graph::onnx
