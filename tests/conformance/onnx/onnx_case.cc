#include "tests/conformance/onnx/onnx_case.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iostream>
#include <sstream>

#include "base/text.h"
#include "compiler/front/front.h"
#include "compiler/graph/counted_outputs.h"
#include "compiler/graph/evaluate/evaluate.h"
#include "compiler/graph/graph.h"
#include "compiler/graph/onnx/file.h"
#include "compiler/graph/onnx/import.h"
#include "compiler/graph/onnx/parse.h"
#include "compiler/graph/tensor_io.h"

namespace mlc::graph::onnx {
namespace {

std::vector<std::string> SplitBy(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

struct Tolerance {
  double relative;
  double absolute;
};

Tolerance ToleranceOf(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return {2e-3, 2e-3};
    case DType::kBF16:
      return {1.6e-2, 1.6e-2};
    case DType::kF32:
      return {1e-3, 1e-5};
    case DType::kF64:
      return {1e-3, 1e-7};
    default:
      return {0, 0};
  }
}

bool Close(double got, double want, Tolerance tolerance) {
  if (std::isnan(want)) return std::isnan(got);
  if (std::isinf(want) || std::isnan(got)) return got == want;
  return std::abs(got - want) <= tolerance.absolute + tolerance.relative * std::abs(want);
}

Status Compare(const TensorData& got, const TensorData& want, size_t k) {
  const std::string output = "output " + std::to_string(k);
  if (got.dtype != want.dtype) {
    return DataLoss(output + " has type " + std::string(ToText(got.dtype)) + ", expected " +
                    std::string(ToText(want.dtype)));
  }
  if (got.dims != want.dims) {
    return DataLoss(output + " has shape " + IntListToText(got.dims) + ", expected " +
                    IntListToText(want.dims));
  }
  const std::vector<double> a = ReadDoubles(got);
  const std::vector<double> b = ReadDoubles(want);
  for (size_t i = 0; i < a.size(); ++i) {
    if (Close(a[i], b[i], ToleranceOf(want.dtype))) continue;
    return DataLoss(output + " element " + std::to_string(i) + " is " + FloatToText(a[i]) +
                    ", expected " + FloatToText(b[i]));
  }
  return Status();
}

// Inputs without initializers, in order: the ones that have data files.
Result<std::vector<std::string>> InputNames(const std::string& model_path) {
  const MappedFileRef file = MLC_TRY(OpenModelFile(model_path));
  const ModelMessage model = MLC_TRY(ParseModel(file->bytes(), ParseLimits{}));
  std::vector<std::string> names;
  for (const ValueMessage& input : model.graph.inputs) {
    const auto& initializers = model.graph.initializers;
    const bool has_value =
        std::any_of(initializers.begin(), initializers.end(),
                    [&](const TensorMessage& tensor) { return tensor.name == input.name; });
    if (!has_value) names.emplace_back(input.name);
  }
  return names;
}

}  // namespace

bool OnnxCase::Has(const std::string& flag) const {
  return std::find(flags.begin(), flags.end(), flag) != flags.end();
}

std::vector<std::string> OnnxCase::BoundInputs() const {
  constexpr std::string_view kPrefix = "bind:";
  for (const std::string& flag : flags) {
    if (flag.rfind(kPrefix, 0) == 0) return SplitBy(flag.substr(kPrefix.size()), '|');
  }
  return {};
}

Result<std::vector<OnnxCase>> ReadManifest(const std::filesystem::path& root) {
  std::ifstream manifest(root / "MANIFEST.tsv");
  std::string line;
  if (!std::getline(manifest, line)) return NotFound("no MANIFEST.tsv in " + root.string());
  std::vector<OnnxCase> cases;
  while (std::getline(manifest, line)) {
    const std::vector<std::string> columns = SplitBy(line, '\t');
    if (columns.size() < 12) return InvalidArgument("a manifest row has too few columns: " + line);
    OnnxCase test;
    test.group = columns[0];
    test.name = columns[1];
    test.op = columns[2];
    test.tier = std::atoi(columns[3].c_str());
    test.flags = SplitBy(columns[10], ';');
    test.directory = root / test.group / test.name;
    cases.push_back(std::move(test));
  }
  return cases;
}

namespace {

struct CaseData {
  std::string model;
  std::vector<std::string> names;
  std::vector<TensorDataRef> inputs;
  std::vector<TensorDataRef> outputs;
};

Result<CaseData> ReadCase(const OnnxCase& test) {
  const std::filesystem::path data = test.directory / "test_data_set_0";
  CaseData loaded;
  loaded.model = test.directory / "model.onnx";
  loaded.names = MLC_TRY(InputNames(loaded.model));
  for (size_t k = 0; k < loaded.names.size(); ++k) {
    const std::string path = data / ("input_" + std::to_string(k) + ".pb");
    loaded.inputs.push_back(MLC_TRY(ReadTensorFile(path)));
  }
  for (size_t k = 0;; ++k) {
    const std::string path = data / ("output_" + std::to_string(k) + ".pb");
    if (!std::filesystem::exists(path)) return loaded;
    loaded.outputs.push_back(MLC_TRY(ReadTensorFile(path)));
  }
}

// Runs the model with the named inputs bound, and compares.
Status RunBound(const CaseData& data, const std::vector<std::string>& bound,
                const ModelRunner& run) {
  ImportOptions options;
  std::vector<TensorDataRef> sources;
  for (size_t k = 0; k < data.names.size(); ++k) {
    if (std::find(bound.begin(), bound.end(), data.names[k]) != bound.end()) {
      options.bound_inputs[data.names[k]] = data.inputs[k];
    } else {
      sources.push_back(data.inputs[k]);
    }
  }
  const std::vector<TensorDataRef> outputs = MLC_TRY(run(data.model, options, sources));
  if (outputs.size() != data.outputs.size()) return DataLoss("the number of outputs differs");
  for (size_t k = 0; k < outputs.size(); ++k) {
    MLC_TRY(Compare(*outputs[k], *data.outputs[k], k));
  }
  return Status();
}

// Low-bit types, and expectations known to be doubtful, are apart.
bool IsClean(const OnnxCase& test) {
  return !test.Has("lowbit") && !test.Has("disputed") && !test.Has("loose") &&
         !test.Has("ort-mismatch");
}

void PrintScores(const TierScores& scores) {
  for (const auto& [tier, score] : scores.all) {
    const auto clean = scores.clean.find(tier);
    const Score of_clean = clean == scores.clean.end() ? Score() : clean->second;
    std::cout << "tier " << tier << ": " << score.passed << " of " << score.total << " pass ("
              << 100 * score.Rate() << " %), clean " << of_clean.passed << " of " << of_clean.total
              << "\n";
  }
}

}  // namespace

Result<std::vector<TensorDataRef>> EvaluateModel(const std::string& model,
                                                 const ImportOptions& import,
                                                 const std::vector<TensorDataRef>& sources) {
  const front::Model read = MLC_TRY(front::ReadModel(model, import));
  return CutOutputs(read.counted, MLC_TRY(Evaluate(read.graph, sources)));
}

Status RunCase(const OnnxCase& test, const ModelRunner& run) {
  const CaseData data = MLC_TRY(ReadCase(test));
  const Status status = RunBound(data, test.BoundInputs(), run);
  const bool needs_values =
      status.code() == StatusCode::kFailedPrecondition ||
      (status.code() == StatusCode::kUnimplemented &&
       status.message().find("depends on the model's inputs") != std::string::npos);
  if (!needs_values) return status;
  std::vector<std::string> integers;
  for (size_t k = 0; k < data.names.size(); ++k) {
    const DType type = data.inputs[k]->dtype;
    if (type == DType::kI64 || type == DType::kI32) integers.push_back(data.names[k]);
  }
  return RunBound(data, integers, run);
}

Score TierScores::Sum(const std::map<int, Score>& scores, int last) {
  Score sum;
  for (const auto& [tier, score] : scores) {
    if (tier > last) break;
    sum.passed += score.passed;
    sum.total += score.total;
  }
  return sum;
}

Result<TierScores> RunCases(const std::string& roots, const std::string& report,
                            const ModelRunner& run, const std::string& only) {
  std::ofstream out(report);
  TierScores scores;
  std::istringstream list(roots);
  for (std::string root; std::getline(list, root, ':');) {
    const std::vector<OnnxCase> cases = MLC_TRY(ReadManifest(root));
    for (const OnnxCase& test : cases) {
      if (test.name.find(only) == std::string::npos) continue;
      const Status status = RunCase(test, run);
      for (Score* const score :
           {&scores.all[test.tier], IsClean(test) ? &scores.clean[test.tier] : nullptr}) {
        if (score == nullptr) continue;
        ++score->total;
        score->passed += status.ok() ? 1 : 0;
      }
      if (status.ok()) continue;
      if (status.message().find('\n') != std::string::npos) {
        return Internal(test.name + ": an error of several lines: " + status.message());
      }
      out << test.tier << '\t' << (IsClean(test) ? "clean" : "other") << '\t' << test.op << '\t'
          << test.name << '\t' << status.ToString() << std::endl;
    }
  }
  PrintScores(scores);
  return scores;
}

}  // namespace mlc::graph::onnx
