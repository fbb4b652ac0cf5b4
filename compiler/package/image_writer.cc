#include "compiler/package/image_writer.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "compiler/package/elf_object.h"
#include "compiler/runtime/image.h"

namespace mlc::package {

namespace {

constexpr std::pair<size_t, const char*> kApiMembers[] = {
    {offsetof(mlc_model_api, open), "mlc_runtime_open"},
    {offsetof(mlc_model_api, close), "mlc_runtime_close"},
    {offsetof(mlc_model_api, input_count), "mlc_runtime_input_count"},
    {offsetof(mlc_model_api, output_count), "mlc_runtime_output_count"},
    {offsetof(mlc_model_api, input), "mlc_runtime_input"},
    {offsetof(mlc_model_api, output), "mlc_runtime_output"},
    {offsetof(mlc_model_api, session_bytes), "mlc_runtime_session_bytes"},
    {offsetof(mlc_model_api, create_session), "mlc_runtime_create_session"},
    {offsetof(mlc_model_api, destroy_session), "mlc_runtime_destroy_session"},
    {offsetof(mlc_model_api, run), "mlc_runtime_run"},
    {offsetof(mlc_model_api, step_count), "mlc_runtime_step_count"},
    {offsetof(mlc_model_api, step_label), "mlc_runtime_step_label"},
    {offsetof(mlc_model_api, run_profiled), "mlc_runtime_run_profiled"},
    {offsetof(mlc_model_api, status_text), "mlc_runtime_status_text"},
};

uint32_t FeaturesOf(const target::Target& target) {
  switch (target.isa) {
    case target::Isa::kAvx512:
      return MLC_NEEDS_AVX2 | MLC_NEEDS_AVX512;
    case target::Isa::kAvx2:
      return MLC_NEEDS_AVX2;
    case target::Isa::kPlain:
    case target::Isa::kNeon:
      return 0;
  }
  return 0;
}

// Collects the tables in one relocated block ("tables") and the texts and dimensions in one plain
// block
// ("texts"); pointers between them go through two section symbols.
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

int64_t AddPorts(ImageBuilder& builder, const std::vector<graph::Port>& ports) {
  std::vector<mlc_port> rows;
  for (const graph::Port& port : ports) {
    mlc_port row = {};
    row.bytes = port.type.NumElements() * SizeOf(port.type.dtype);
    row.rank = port.type.rank();
    row.dtype = static_cast<int32_t>(port.type.dtype);
    rows.push_back(row);
  }
  const int64_t table = builder.AddTable(rows);
  for (size_t i = 0; i < ports.size(); ++i) {
    const auto at = table + static_cast<int64_t>(i * sizeof(mlc_port));
    const auto name = static_cast<int64_t>(offsetof(mlc_port, name));
    const auto dims = static_cast<int64_t>(offsetof(mlc_port, dims));
    builder.PointToText(at + name, builder.AddText(ports[i].name));
    builder.PointToText(at + dims, builder.AddDims(ports[i].type.dims));
  }
  return table;
}

mlc_operand OperandOf(const graph::Placement& place, const WeightsPlan& weights) {
  switch (place.kind) {
    case graph::Placement::Kind::kModelInput:
      return {MLC_AT_INPUT, place.index, place.byte_offset};
    case graph::Placement::Kind::kModelOutput:
      return {MLC_AT_OUTPUT, place.index, place.byte_offset};
    case graph::Placement::Kind::kArena:
      return {MLC_AT_ARENA, 0, place.byte_offset};
    case graph::Placement::Kind::kConstant:
      return {MLC_AT_WEIGHTS, 0, weights.raw_offset.at(place.index) + place.byte_offset};
  }
  return {};
}

std::vector<mlc_operand> OperandsOf(int step_index, const graph::Step& step,
                                    const TaskKernel& kernel, const WeightsPlan& weights) {
  std::vector<mlc_operand> rows;
  for (const schedule::Binding& binding : kernel.lowered.bindings) {
    const auto index = static_cast<size_t>(binding.index);
    switch (binding.kind) {
      case schedule::Binding::Kind::kOperand:
        rows.push_back(OperandOf(step.operands[index], weights));
        break;
      case schedule::Binding::Kind::kOutput:
        rows.push_back(OperandOf(step.outputs[index], weights));
        break;
      case schedule::Binding::Kind::kPrepared:
        rows.push_back(
            {MLC_AT_WEIGHTS, 0, weights.prepared_offset.at({step_index, binding.index})});
        break;
    }
  }
  return rows;
}

// One table of phases per task: steps of the same task share it.
std::vector<int64_t> AddPhases(ImageBuilder& builder, std::span<const TaskKernel> kernels) {
  std::vector<int64_t> tables;
  for (const TaskKernel& kernel : kernels) {
    std::vector<mlc_phase> rows;
    for (const int64_t extent : kernel.layout.phase_extents) rows.push_back({nullptr, extent});
    const int64_t table = builder.AddTable(rows);
    for (size_t p = 0; p < rows.size(); ++p) {
      builder.PointTo(table + static_cast<int64_t>(p * sizeof(mlc_phase) + offsetof(mlc_phase, fn)),
                      kernel.lowered.kernel.name + "_p" + std::to_string(p));
    }
    tables.push_back(table);
  }
  return tables;
}

int64_t AddSteps(ImageBuilder& builder, const graph::Program& program,
                 std::span<const TaskKernel> kernels, const WeightsPlan& weights,
                 mlc_image& image) {
  const std::vector<int64_t> phases = AddPhases(builder, kernels);
  std::vector<mlc_step> rows;
  std::vector<int64_t> operands;
  for (size_t s = 0; s < program.steps.size(); ++s) {
    const graph::Step& step = program.steps[s];
    const TaskKernel& kernel = kernels[static_cast<size_t>(step.task)];
    const std::vector<mlc_operand> places = OperandsOf(static_cast<int>(s), step, kernel, weights);
    operands.push_back(builder.AddTable(places));
    mlc_step row = {};
    row.shared_bytes = kernel.layout.shared_bytes;
    row.thread_bytes = kernel.layout.thread_bytes;
    row.phase_count = static_cast<int32_t>(kernel.layout.phase_extents.size());
    row.operand_count = static_cast<int32_t>(places.size());
    image.operand_count += row.operand_count + 2;
    image.shared_bytes = std::max(image.shared_bytes, row.shared_bytes);
    image.thread_bytes = std::max(image.thread_bytes, row.thread_bytes);
    rows.push_back(row);
  }
  const int64_t table = builder.AddTable(rows);
  for (size_t s = 0; s < rows.size(); ++s) {
    const auto at = table + static_cast<int64_t>(s * sizeof(mlc_step));
    const graph::Step& step = program.steps[s];
    const auto& workload = program.tasks[static_cast<size_t>(step.task)].workload;
    builder.PointToTable(at + static_cast<int64_t>(offsetof(mlc_step, phases)),
                         phases[static_cast<size_t>(step.task)]);
    builder.PointToTable(at + static_cast<int64_t>(offsetof(mlc_step, operands)), operands[s]);
    builder.PointToText(at + static_cast<int64_t>(offsetof(mlc_step, label)),
                        builder.AddText(workload.Summary()));
  }
  return table;
}

}  // namespace

std::string WeightsSymbol(const std::string& name) { return "mlc_" + name + "_weights"; }

Status WriteImage(const graph::Program& program, std::span<const TaskKernel> kernels,
                  const WeightsPlan& weights, const target::Target& target,
                  const ImageOptions& options, const std::string& path) {
  ElfObject object(target.arch);
  ImageBuilder builder(options.name, object);
  mlc_image image = {};
  image.weights_bytes = weights.bytes;
  image.weights_check = options.weights_check;
  image.arena_bytes = program.arena_bytes;
  image.input_count = static_cast<int32_t>(program.inputs.size());
  image.output_count = static_cast<int32_t>(program.outputs.size());
  image.step_count = static_cast<int32_t>(program.steps.size());
  image.threads = target.threads;
  image.required_features = FeaturesOf(target);
  const int64_t inputs = AddPorts(builder, program.inputs);
  const int64_t outputs = AddPorts(builder, program.outputs);
  const int64_t steps = AddSteps(builder, program, kernels, weights, image);

  const int64_t image_at = builder.AddTable(std::vector<mlc_image>{image});
  builder.PointToTable(image_at + static_cast<int64_t>(offsetof(mlc_image, inputs)), inputs);
  builder.PointToTable(image_at + static_cast<int64_t>(offsetof(mlc_image, outputs)), outputs);
  builder.PointToTable(image_at + static_cast<int64_t>(offsetof(mlc_image, steps)), steps);
  if (options.embed_weights) {
    builder.PointTo(image_at + static_cast<int64_t>(offsetof(mlc_image, weights)),
                    WeightsSymbol(options.name));
  }

  mlc_table table = {};
  table.api.abi_version = MLC_MODEL_ABI_VERSION;
  table.api.struct_bytes = sizeof(mlc_model_api);
  const int64_t table_at = builder.AddTable(std::vector<mlc_table>{table});
  for (const auto& [offset, symbol] : kApiMembers) {
    builder.PointTo(table_at + static_cast<int64_t>(offset), symbol);
  }
  builder.PointToTable(table_at + static_cast<int64_t>(offsetof(mlc_table, image)), image_at);

  const int section = builder.Finish();
  object.Define(options.name + "_model", section, table_at, sizeof(mlc_table), false);
  if (options.entry) object.Define(MLC_MODEL_ENTRY, section, table_at, sizeof(mlc_table), false);
  return object.WriteTo(path);
}

}  // namespace mlc::package
