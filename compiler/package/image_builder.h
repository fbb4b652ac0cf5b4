// Collects the static tables of a model: one relocated block ("tables"), one plain block of texts,
// dimensions and code ("texts"), and the pointers between them, which go through two section
// symbols. Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "compiler/graph/program.h"
#include "compiler/package/elf_object.h"
#include "compiler/package/plans.h"
#include "compiler/package/task_kernel.h"
#include "compiler/package/weights.h"
#include "compiler/runtime/image.h"

namespace mlc::package {

class ImageBuilder {
 public:
  ImageBuilder(std::string name, ElfObject& object)
      : tables_symbol_("mlc_" + name + "_tables"),
        texts_symbol_("mlc_" + name + "_texts"),
        object_(object) {}

  template <typename T>
  int64_t AddTable(const std::vector<T>& rows) {
    const auto offset = static_cast<int64_t>(tables_.size());
    tables_.append(reinterpret_cast<const char*>(rows.data()), rows.size() * sizeof(T));
    return offset;
  }
  int64_t AddText(const std::string& text) {
    const auto offset = static_cast<int64_t>(texts_.size());
    texts_.append(text).push_back('\0');
    return offset;
  }
  // Adds bytes that are used in place, aligned to 64.
  int64_t AddBlob(const std::string& bytes) {
    texts_.resize((texts_.size() + 63) / 64 * 64);
    return AddText(bytes);
  }
  int64_t AddDims(const std::vector<int64_t>& dims) {
    texts_.resize((texts_.size() + 7) / 8 * 8);
    const auto offset = static_cast<int64_t>(texts_.size());
    texts_.append(reinterpret_cast<const char*>(dims.data()), dims.size() * sizeof(int64_t));
    return offset;
  }
  void PointToTable(int64_t at, int64_t target) {
    pointers_.push_back({at, tables_symbol_, target});
  }
  void PointToText(int64_t at, int64_t target) { pointers_.push_back({at, texts_symbol_, target}); }
  void PointTo(int64_t at, std::string symbol) { pointers_.push_back({at, std::move(symbol), 0}); }

  // Moves everything into the object; returns the index of the tables' section.
  int Finish() {
    const auto tables_size = static_cast<int64_t>(tables_.size());
    const auto texts_size = static_cast<int64_t>(texts_.size());
    const int tables = object_.AddSection("tables", std::move(tables_), true);
    const int texts = object_.AddSection("texts", std::move(texts_), false);
    object_.Define(tables_symbol_, tables, 0, tables_size, true);
    object_.Define(texts_symbol_, texts, 0, texts_size, true);
    for (const Pointer& p : pointers_) object_.Point(tables, p.at, p.symbol, p.addend);
    return tables;
  }

 private:
  struct Pointer {
    int64_t at;
    std::string symbol;
    int64_t addend;
  };
  std::string tables_symbol_;
  std::string texts_symbol_;
  ElfObject& object_;
  std::string tables_;
  std::string texts_;
  std::vector<Pointer> pointers_;
};

// The table of ports; returns its offset.
int64_t AddPorts(ImageBuilder& builder, const std::vector<graph::Port>& ports);

// The place of an image (mlc_image, or a mlc_device_image, which begins with one) and of its steps.
struct ImageTable {
  size_t plan = 0;
  int64_t steps_at = 0;
  int64_t image_at = 0;
};

// The table of a plan's steps, with the operands of each; returns its offset. `kernels`: by task.
// `needs` gives the scratch and the phases of a task's kernel as a row without operands; `phases`
// has where the phases of each task are, or nothing for GPUs. The image's totals become those of
// its steps.
int64_t AddSteps(ImageBuilder& builder, const graph::Program& program, const Plan& plan,
                 std::span<const TaskKernel* const> kernels, const WeightsPlan& weights,
                 const std::function<mlc_step(const TaskKernel&)>& needs,
                 std::span<const int64_t> phases, mlc_image& image);

}  // namespace mlc::package
