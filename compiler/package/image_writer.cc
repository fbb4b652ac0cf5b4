#include "compiler/package/image_writer.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "compiler/package/elf_object.h"
#include "compiler/package/image_builder.h"
#include "compiler/package/packaging.h"
#include "compiler/package/size_image.h"
#include "compiler/runtime/image.h"

namespace mlc::package {

namespace {

// A member of the public table and the runtime's function behind it, for CPUs and for GPUs.
struct ApiMember {
  size_t offset;
  const char* function;
  const char* device_function;
};

constexpr ApiMember kApiMembers[] = {
    {offsetof(mlc_model_api, open), "mlc_runtime_open", "mlc_device_open"},
    {offsetof(mlc_model_api, close), "mlc_runtime_close", "mlc_device_close"},
    {offsetof(mlc_model_api, input_count), "mlc_runtime_input_count", "mlc_runtime_input_count"},
    {offsetof(mlc_model_api, output_count), "mlc_runtime_output_count", "mlc_runtime_output_count"},
    {offsetof(mlc_model_api, input), "mlc_runtime_input", "mlc_runtime_input"},
    {offsetof(mlc_model_api, output), "mlc_runtime_output", "mlc_runtime_output"},
    {offsetof(mlc_model_api, session_bytes), "mlc_runtime_session_bytes",
     "mlc_device_session_bytes"},
    {offsetof(mlc_model_api, create_session), "mlc_runtime_create_session",
     "mlc_device_create_session"},
    {offsetof(mlc_model_api, destroy_session), "mlc_runtime_destroy_session",
     "mlc_device_destroy_session"},
    {offsetof(mlc_model_api, run), "mlc_runtime_run", "mlc_device_run"},
    {offsetof(mlc_model_api, step_count), "mlc_runtime_step_count", "mlc_runtime_step_count"},
    {offsetof(mlc_model_api, step_label), "mlc_runtime_step_label", "mlc_runtime_step_label"},
    {offsetof(mlc_model_api, run_profiled), "mlc_runtime_run_profiled", "mlc_device_run_profiled"},
    {offsetof(mlc_model_api, status_text), "mlc_runtime_status_text", "mlc_runtime_status_text"},
    {offsetof(mlc_model_api, open_with), "mlc_runtime_open_with", "mlc_device_open_with"},
    {offsetof(mlc_model_api, device), "mlc_runtime_device", "mlc_device_device"},
    {offsetof(mlc_model_api, session_error), "mlc_runtime_session_error",
     "mlc_device_session_error"},
    {offsetof(mlc_model_api, run_device), "mlc_runtime_run_device", "mlc_device_run_device"},
    {offsetof(mlc_model_api, run_timed), "mlc_runtime_run_timed", "mlc_device_run_timed"},
    {offsetof(mlc_model_api, in_place_input), "mlc_runtime_in_place_input",
     "mlc_runtime_in_place_input"},
    {offsetof(mlc_model_api, read_cache), "mlc_runtime_read_cache", "mlc_device_read_cache"},
    {offsetof(mlc_model_api, write_cache), "mlc_runtime_write_cache", "mlc_device_write_cache"},
    {offsetof(mlc_model_api, result), "mlc_runtime_result", "mlc_runtime_result"},
};

// Everything of the image that CPUs and GPUs share.
mlc_image BaseImage(const Plan& plan, const WeightsPlan& weights, const ImageOptions& options) {
  mlc_image image = {};
  image.weights_bytes = weights.bytes;
  image.weights_check = options.weights_check;
  image.arena_bytes = plan.arena_bytes;
  image.input_count = static_cast<int32_t>(plan.inputs.size());
  image.output_count = static_cast<int32_t>(plan.outputs.size());
  image.step_count = plan.step_count;
  image.count_count = plan.counted.count;
  image.threads = 1;
  return image;
}

// Rows of lengths that depend on data, as mlc_image says; no offset: there are none.
std::optional<int64_t> AddCounted(ImageBuilder& builder, const graph::CountedOutputs& counted) {
  if (counted.count == 0) return std::nullopt;
  std::vector<int64_t> rows;
  for (const std::vector<graph::CountedLength>& axes : counted.lengths) {
    for (const graph::CountedLength& length : axes) {
      rows.push_back(length.most);
      rows.push_back(length.base);
      rows.insert(rows.end(), length.factors.begin(), length.factors.end());
    }
  }
  return builder.AddDims(rows);
}

// The public table, with the image behind it; returns its offset.
int64_t AddApi(ImageBuilder& builder, bool is_device, int64_t image_at,
               std::optional<int64_t> sizes_at) {
  mlc_table table = {};
  table.api.abi_version = MLC_MODEL_ABI_VERSION;
  table.api.struct_bytes = sizeof(mlc_model_api);
  const int64_t table_at = builder.AddTable(std::vector<mlc_table>{table});
  for (const ApiMember& member : kApiMembers) {
    builder.PointTo(table_at + static_cast<int64_t>(member.offset),
                    is_device ? member.device_function : member.function);
  }
  builder.PointToTable(table_at + static_cast<int64_t>(offsetof(mlc_table, image)), image_at);
  if (sizes_at) {
    builder.PointToTable(table_at + static_cast<int64_t>(offsetof(mlc_model_api, sizes)),
                         *sizes_at);
  }
  return table_at;
}

}  // namespace

std::string WeightsSymbol(const std::string& name) { return "mlc_" + name + "_weights"; }

Status WriteImage(const graph::Program& program, const Plans& plans,
                  std::span<const TaskKernel> kernels, const WeightsPlan& weights,
                  const DeviceCode& code, const target::Target& target, const ImageOptions& options,
                  const std::string& path) {
  const Packaging& packaging = PackagingOf(target);
  ElfObject object(packaging.machine(target));
  ImageBuilder builder(options.name, object);
  std::vector<mlc_image> bases;
  std::vector<int64_t> inputs, outputs;
  std::vector<std::optional<int64_t>> counted;
  for (const Plan& plan : plans.plans) {
    bases.push_back(BaseImage(plan, weights, options));
    inputs.push_back(AddPorts(builder, plan.inputs));
    outputs.push_back(AddPorts(builder, plan.outputs));
    counted.push_back(AddCounted(builder, plan.counted));
  }
  const std::vector<ImageTable> tables = MLC_TRY(
      packaging.add_tables(builder, program, plans.plans, kernels, weights, code, target, bases));
  // Newer devices have a table of their own images.
  std::vector<int64_t> sizes_at;
  for (size_t first = 0; plans.has_sizes() && first < tables.size(); first += bases.size()) {
    sizes_at.push_back(
        AddSizeTable(builder, plans, std::span(tables).subspan(first, bases.size())));
  }
  for (size_t i = 0; i < tables.size(); ++i) {
    const ImageTable& table = tables[i];
    const auto member = [&](size_t offset) {
      return table.image_at + static_cast<int64_t>(offset);
    };
    builder.PointToTable(member(offsetof(mlc_image, inputs)), inputs[table.plan]);
    builder.PointToTable(member(offsetof(mlc_image, outputs)), outputs[table.plan]);
    builder.PointToTable(member(offsetof(mlc_image, steps)), table.steps_at);
    if (counted[table.plan]) {
      builder.PointToText(member(offsetof(mlc_image, counted)), *counted[table.plan]);
    }
    if (!sizes_at.empty()) {
      builder.PointToTable(member(offsetof(mlc_image, sizes)), sizes_at[i / bases.size()]);
    }
    if (options.embed_weights) {
      builder.PointTo(member(offsetof(mlc_image, weights)), WeightsSymbol(options.name));
    }
  }
  const int64_t table_at =
      AddApi(builder, packaging.has_device_code, tables[0].image_at,
             sizes_at.empty() ? std::nullopt : std::optional(sizes_at.front()));
  const int section = builder.Finish();
  object.Define(options.name + "_model", section, table_at, sizeof(mlc_table), false);
  if (options.entry) object.Define(MLC_MODEL_ENTRY, section, table_at, sizeof(mlc_table), false);
  return object.WriteTo(path);
}

}  // namespace mlc::package
