#include "costmodel/xgboost_model.h"

#include <xgboost/c_api.h>

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "compiler/base/check.h"

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

}  // namespace

struct XgboostModel::Handle {
  BoosterHandle booster = nullptr;
  ~Handle() {
    if (booster != nullptr) XGBoosterFree(booster);
  }
  Status Set(const char* name, const std::string& value) const {
    return Check(XGBoosterSetParam(booster, name, value.c_str()));
  }
};

XgboostModel::XgboostModel(std::unique_ptr<Handle> handle) : handle_(std::move(handle)) {}
XgboostModel::XgboostModel(XgboostModel&&) noexcept = default;
XgboostModel& XgboostModel::operator=(XgboostModel&&) noexcept = default;
XgboostModel::~XgboostModel() = default;

Result<XgboostModel> XgboostModel::Fit(const TrainingRows& rows, const BoostingOptions& options) {
  const size_t count = rows.labels.size();
  if (count == 0 || rows.columns == 0 || rows.features.size() != count * rows.columns ||
      (!rows.weights.empty() && rows.weights.size() != count)) {
    return InvalidArgument("training rows: sizes of features, labels and weights disagree");
  }
  Matrix matrix = MLC_TRY(Matrix::Create(rows.features, count, rows.columns));
  MLC_TRY(matrix.Set("label", rows.labels));
  if (!rows.weights.empty()) MLC_TRY(matrix.Set("weight", rows.weights));
  auto handle = std::make_unique<Handle>();
  const DMatrixHandle matrices[] = {matrix.get()};
  MLC_TRY(Check(XGBoosterCreate(matrices, 1, &handle->booster)));
  const std::pair<const char*, std::string> parameters[] = {
      {"verbosity", "0"},
      {"nthread", "1"},
      {"seed", "1"},
      {"objective", "reg:squarederror"},
      {"base_score", "0"},
      {"tree_method", count > 1500 ? "hist" : "exact"},
      {"max_bin", "64"},
      {"max_depth", std::to_string(options.depth)},
      {"eta", std::to_string(options.eta)},
      {"lambda", std::to_string(options.lambda)},
      {"min_child_weight", std::to_string(options.min_child_weight)},
  };
  for (const auto& [name, value] : parameters) MLC_TRY(handle->Set(name, value));
  for (int i = 0; i < options.trees; ++i) {
    MLC_TRY(Check(XGBoosterUpdateOneIter(handle->booster, i, matrix.get())));
  }
  return XgboostModel(std::move(handle));
}

Result<XgboostModel> XgboostModel::FromBytes(std::string_view bytes) {
  auto handle = std::make_unique<Handle>();
  MLC_TRY(Check(XGBoosterCreate(nullptr, 0, &handle->booster)));
  const Status loaded =
      Check(XGBoosterLoadModelFromBuffer(handle->booster, bytes.data(), bytes.size()));
  if (!loaded.ok()) return DataLoss("not a saved model: " + loaded.message());
  MLC_TRY(handle->Set("nthread", "1"));
  MLC_TRY(handle->Set("verbosity", "0"));
  return XgboostModel(std::move(handle));
}

Status XgboostModel::Predict(std::span<const float> features, size_t columns,
                             std::span<float> out) const {
  MLC_CHECK(features.size() == columns * out.size()) << "rows of features and results";
  if (out.empty()) return Status();
  const Matrix matrix = MLC_TRY(Matrix::Create(features, out.size(), columns));
  const char* config =
      R"({"type": 0, "training": false, "iteration_begin": 0, "iteration_end": 0, "strict_shape": false})";
  const bst_ulong* shape = nullptr;
  bst_ulong dimensions = 0;
  const float* values = nullptr;
  MLC_TRY(Check(XGBoosterPredictFromDMatrix(handle_->booster, matrix.get(), config, &shape,
                                            &dimensions, &values)));
  std::copy_n(values, out.size(), out.begin());
  return Status();
}

Result<std::string> XgboostModel::ToBytes() const {
  bst_ulong size = 0;
  const char* bytes = nullptr;
  MLC_TRY(
      Check(XGBoosterSaveModelToBuffer(handle_->booster, R"({"format": "ubj"})", &size, &bytes)));
  return std::string(bytes, size);
}

}  // namespace mlc::costmodel
