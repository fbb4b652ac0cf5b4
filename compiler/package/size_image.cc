#include "compiler/package/size_image.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

#include "compiler/runtime/size_table.h"

namespace mlc::package {

namespace {

struct SizeFunction {
  size_t offset;
  const char* function;
};

constexpr SizeFunction kFunctions[] = {
    {offsetof(mlc_sizes_api, set_sizes), "mlc_runtime_set_sizes"},
    {offsetof(mlc_sizes_api, input), "mlc_runtime_session_input"},
    {offsetof(mlc_sizes_api, output), "mlc_runtime_session_output"},
    {offsetof(mlc_sizes_api, step_count), "mlc_runtime_session_step_count"},
    {offsetof(mlc_sizes_api, step_label), "mlc_runtime_session_step_label"},
    {offsetof(mlc_sizes_api, run_tensors), "mlc_runtime_run_tensors"},
};

int64_t AddDimTable(ImageBuilder& builder, const Plans& plans) {
  std::vector<mlc_dim> rows;
  for (size_t d = 0; d < plans.dims.size(); ++d) {
    const auto [least, most] =
        std::ranges::minmax(plans.plans, {}, [d](const Plan& plan) { return plan.sizes[d]; });
    rows.push_back({nullptr, least.sizes[d], most.sizes[d]});
    if (plans.ranges) rows.back() = {nullptr, plans.ranges->least[d], plans.ranges->most[d]};
  }
  const int64_t table = builder.AddTable(rows);
  for (size_t d = 0; d < rows.size(); ++d) {
    builder.PointToText(table + static_cast<int64_t>(d * sizeof(mlc_dim) + offsetof(mlc_dim, name)),
                        builder.AddText(plans.dims[d]));
  }
  return table;
}

int64_t AddSizeRows(ImageBuilder& builder, const Plans& plans) {
  std::vector<int64_t> sizes;
  for (const Plan& plan : plans.plans) {
    sizes.insert(sizes.end(), plan.sizes.begin(), plan.sizes.end());
  }
  return builder.AddDims(sizes);
}

int64_t AddPlanPointers(ImageBuilder& builder, std::span<const ImageTable> tables) {
  const int64_t at = builder.AddTable(std::vector<const mlc_image*>(tables.size(), nullptr));
  for (size_t p = 0; p < tables.size(); ++p) {
    builder.PointToTable(at + static_cast<int64_t>(p * sizeof(const mlc_image*)),
                         tables[p].image_at);
  }
  return at;
}

int64_t AddAxes(ImageBuilder& builder, const Plans& plans) {
  std::vector<mlc_axis> rows;
  for (const SizeAxis& axis : plans.axes) rows.push_back({axis.input, axis.axis, axis.dim, 0});
  return builder.AddTable(rows);
}

// Rows of all axes of inputs, of all axes of outputs, of the lengths.
int64_t AddForms(ImageBuilder& builder, const graph::RangeForms& forms) {
  std::vector<int64_t> rows;
  const auto add = [&](const std::vector<graph::SizeForm>& lengths) {
    for (const graph::SizeForm& form : lengths) {
      rows.push_back(form.base);
      rows.insert(rows.end(), form.factors.begin(), form.factors.end());
    }
  };
  for (const graph::RangeForms::Axes& axes : forms.inputs) add(axes);
  for (const graph::RangeForms::Axes& axes : forms.outputs) add(axes);
  add(forms.lengths);
  return builder.AddDims(rows);
}

uint32_t AnySize(const PlanRanges& ranges) {
  uint32_t bits = 0;
  for (size_t d = 0; d < ranges.any_size.size(); ++d) bits |= uint32_t{ranges.any_size[d]} << d;
  return bits;
}

}  // namespace

int64_t AddSizeTable(ImageBuilder& builder, const Plans& plans,
                     std::span<const ImageTable> tables) {
  mlc_size_table table = {};
  table.api.struct_bytes = sizeof(mlc_sizes_api);
  table.api.dim_count = static_cast<int32_t>(plans.dims.size());
  table.api.size_count = static_cast<int32_t>(plans.plans.size());
  table.axis_count = static_cast<int64_t>(plans.axes.size());
  std::optional<int64_t> forms_at;
  if (plans.ranges) {
    table.api.any_size = AnySize(*plans.ranges);
    table.length_count = static_cast<int64_t>(plans.ranges->forms.lengths.size());
    forms_at = AddForms(builder, plans.ranges->forms);
  }
  const int64_t dims_at = AddDimTable(builder, plans);
  const int64_t sizes_at = AddSizeRows(builder, plans);
  const int64_t plans_at = AddPlanPointers(builder, tables);
  const int64_t axes_at = AddAxes(builder, plans);
  const int64_t at = builder.AddTable(std::vector<mlc_size_table>{table});
  const auto member = [at](size_t offset) { return at + static_cast<int64_t>(offset); };
  builder.PointToTable(member(offsetof(mlc_sizes_api, dims)), dims_at);
  builder.PointToText(member(offsetof(mlc_sizes_api, sizes)), sizes_at);
  builder.PointToTable(member(offsetof(mlc_size_table, plans)), plans_at);
  builder.PointToTable(member(offsetof(mlc_size_table, axes)), axes_at);
  if (forms_at) builder.PointToText(member(offsetof(mlc_size_table, forms)), *forms_at);
  for (const SizeFunction& row : kFunctions) builder.PointTo(member(row.offset), row.function);
  return at;
}

}  // namespace mlc::package
