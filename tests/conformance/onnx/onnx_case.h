// One case of the ONNX backend test data: a model, its inputs and its expected outputs in files.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/status.h"

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

// Imports the model, evaluates it by the reference and compares every output: the type and shape
// exactly, floats within the tolerance of their type. Inputs that shape the graph are bound: the
// ones that the manifest names, or all of type i64 where it names too few.
Status RunCase(const OnnxCase& test);

}  // namespace mlc::graph::onnx
