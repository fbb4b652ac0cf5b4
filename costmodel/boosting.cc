#include "costmodel/boosting.h"

#include <xgboost/c_api.h>

#include <limits>
#include <string>
#include <utility>

namespace mlc::costmodel {
namespace {

Status Check(int code) {
  if (code == 0) return Status();
  std::string text = XGBGetLastError();
  return Internal("xgboost: " + text.substr(0, text.find('\n')));
}

class Matrix {
 public:
  static Result<Matrix> Create(std::span<const float> features, size_t rows, size_t columns) {
    Matrix matrix;
    MLC_TRY(Check(XGDMatrixCreateFromMat_omp(features.data(), rows, columns,
                                             std::numeric_limits<float>::quiet_NaN(),
                                             &matrix.handle_, /*nthread=*/1)));
    return matrix;
  }
  Matrix(Matrix&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Matrix& operator=(Matrix&&) = delete;
  ~Matrix() {
    if (handle_ != nullptr) XGDMatrixFree(handle_);
  }
  DMatrixHandle get() const { return handle_; }
  Status Set(const char* field, std::span<const float> values) {
    return Check(XGDMatrixSetFloatInfo(handle_, field, values.data(), values.size()));
  }

 private:
  Matrix() = default;
  DMatrixHandle handle_ = nullptr;
};

class Booster {
 public:
  static Result<Booster> Create(const Matrix& matrix) {
    Booster booster;
    const DMatrixHandle matrices[] = {matrix.get()};
    MLC_TRY(Check(XGBoosterCreate(matrices, 1, &booster.handle_)));
    return booster;
  }
  Booster(Booster&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Booster& operator=(Booster&&) = delete;
  ~Booster() {
    if (handle_ != nullptr) XGBoosterFree(handle_);
  }
  BoosterHandle get() const { return handle_; }
  Status Set(const char* name, const std::string& value) {
    return Check(XGBoosterSetParam(handle_, name, value.c_str()));
  }

 private:
  Booster() = default;
  BoosterHandle handle_ = nullptr;
};

}  // namespace

Result<Forest> FitForest(const TrainingRows& rows, const BoostingOptions& options) {
  const size_t count = rows.labels.size();
  if (count == 0 || rows.columns == 0 || rows.features.size() != count * rows.columns ||
      (!rows.weights.empty() && rows.weights.size() != count)) {
    return InvalidArgument("training rows: sizes of features, labels and weights disagree");
  }
  Matrix matrix = MLC_TRY(Matrix::Create(rows.features, count, rows.columns));
  MLC_TRY(matrix.Set("label", rows.labels));
  if (!rows.weights.empty()) MLC_TRY(matrix.Set("weight", rows.weights));
  Booster booster = MLC_TRY(Booster::Create(matrix));
  const std::pair<const char*, std::string> parameters[] = {
      {"verbosity", "0"},
      {"nthread", "1"},
      {"seed", "1"},
      {"objective", "reg:squarederror"},
      {"base_score", "0"},
      {"tree_method", "hist"},
      {"max_bin", "64"},
      {"colsample_bytree", std::to_string(options.columns)},
      {"max_depth", std::to_string(options.depth)},
      {"eta", std::to_string(options.eta)},
      {"lambda", std::to_string(options.lambda)},
      {"min_child_weight", std::to_string(options.min_child_weight)},
  };
  for (const auto& [name, value] : parameters) MLC_TRY(booster.Set(name, value));
  for (int i = 0; i < options.trees; ++i) {
    MLC_TRY(Check(XGBoosterUpdateOneIter(booster.get(), i, matrix.get())));
  }
  bst_ulong trees = 0;
  const char** texts = nullptr;
  MLC_TRY(Check(XGBoosterDumpModel(booster.get(), "", /*with_stats=*/0, &trees, &texts)));
  return Forest::Parse(std::span(texts, trees), rows.columns);
}

}  // namespace mlc::costmodel
