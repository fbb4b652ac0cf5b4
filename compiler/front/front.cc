#include "compiler/front/front.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "compiler/backend/backend.h"
#include "compiler/front/bounded_model.h"
#include "compiler/graph/onnx/file.h"
#include "compiler/graph/passes/causal_masks.h"
#include "compiler/graph/passes/decode_weights.h"
#include "compiler/graph/passes/float8_products.h"
#include "compiler/graph/passes/float8_weights.h"
#include "compiler/graph/passes/hide_keys.h"
#include "compiler/graph/passes/integer_products.h"
#include "compiler/graph/passes/merge_scales.h"
#include "compiler/graph/passes/pad_channels.h"
#include "compiler/graph/passes/pipeline.h"
#include "compiler/graph/physical/build_program.h"

namespace mlc::front {

namespace {

// Around the logical passes, and before the physical ones, stand those that options ask for.
constexpr std::string_view kDecodeWeights = "decode_weights";
constexpr std::string_view kIntegerProducts = "integer_products";
constexpr std::string_view kFloat8Products = "float8_products";
constexpr std::string_view kFloat8Weights = "float8_weights";
constexpr std::string_view kHideKeys = "hide_keys";
constexpr std::string_view kMergeScales = "merge_scales";
constexpr std::string_view kPrecision = "precision";
constexpr std::string_view kCausalMasks = "causal_masks";
constexpr std::string_view kPadChannels = "pad_channels";
// Rounding to 8 bits errs by 1/254 of the largest element of a part of a row; sums err less.
constexpr double kRoundedTolerance = 2e-2;

bool IsLogical(std::string_view name) {
  const auto names = graph::PhysicalPassNames();
  return name != kDecodeWeights && name != kIntegerProducts && name != kFloat8Products &&
         name != kFloat8Weights && name != kHideKeys && name != kMergeScales &&
         name != kPrecision && name != kCausalMasks && name != kPadChannels &&
         std::find(names.begin(), names.end(), name) == names.end();
}

bool IsWanted(const FrontOptions& options, std::string_view pass) {
  return options.print &&
         (options.print_after.contains(pass) || options.print_after.contains("all"));
}

Status CheckNames(const FrontOptions& options) {
  const std::vector<std::string> known = PassNames();
  for (const std::string& name : options.print_after) {
    if (name == "all" || std::find(known.begin(), known.end(), name) != known.end()) continue;
    std::string list;
    for (const std::string& pass : known) {
      if (list.find(pass) != std::string::npos) continue;
      list += (list.empty() ? "" : ", ") + pass;
    }
    return InvalidArgument("no pass is named '" + name + "'; there are: " + list);
  }
  return {};
}

graph::PassOptions LogicalOptions(const FrontOptions& options) {
  graph::PassOptions result;
  result.skip = options.skip;
  result.skip.erase(std::string(kCausalMasks));
  result.skip.erase(std::string(kPadChannels));
  result.skip.erase(std::string(kIntegerProducts));
  result.skip.erase(std::string(kFloat8Products));
  result.skip.erase(std::string(kFloat8Weights));
  result.skip.erase(std::string(kMergeScales));
  result.skip.erase(std::string(graph::kFuseResiduals));
  for (const std::string& name : options.print_after) {
    if (IsLogical(name)) result.print_after.insert(name);
  }
  if (options.print) {
    result.print = [&options](const graph::Pass& pass, const graph::Graph& graph) {
      options.print(pass.name, graph);
    };
  }
  return result;
}

graph::PhysicalOptions PhysicalPart(const FrontOptions& options, PassTrace* trace) {
  graph::PhysicalOptions result;
  result.tolerance = ToleranceOf(options);
  // A tolerance that the user names holds for all of them.
  if (!options.tolerance) {
    result.rounded_tolerance = kRoundedTolerance;
    result.float8_tolerance = graph::ToleranceOf(graph::Precision::kFp16);
  }
  result.rules = options.rules;
  result.rules.keeps_order = options.takes_ranges;
  result.fuse_residuals = !options.skip.contains(graph::kFuseResiduals);
  result.after_pass = [&options, trace](const graph::PhysicalReport& report,
                                        const graph::Graph& graph) {
    if (trace != nullptr) {
      trace->entries.push_back(
          {std::string(report.pass), report.changed, report.milliseconds, graph.size(), {}});
    }
    if (IsWanted(options, report.pass)) options.print(report.pass, graph);
  };
  return result;
}

bool MultipliesBytes(const FrontOptions& options) {
  return options.multiplies_bytes && !options.skip.contains(kIntegerProducts) &&
         options.precision == graph::Precision::kModel;
}

// Products of float8 are as precise as those of narrow floats: for models that compute in such.
Result<bool> MultiplyFloat8(graph::Graph& graph, const FrontOptions& options) {
  const graph::Precision precision = options.precision;
  if (!options.multiplies_float8 || precision == graph::Precision::kFp32) return false;
  if (options.skip.contains(kFloat8Products)) return false;
  return graph::MultiplyFloat8(
      graph, {.wide = precision != graph::Precision::kModel, .blocks = !options.takes_ranges});
}

// A pass that an option asks for.
template <typename Run>
Status RunOptional(std::string_view name, graph::Graph& graph, const FrontOptions& options,
                   PassTrace* trace, const Run& run) {
  const auto start = std::chrono::steady_clock::now();
  const bool changed = MLC_TRY(run(graph));
  if (const Status status = graph.Verify(); !status.ok()) {
    return Internal("pass " + std::string(name) + " broke the graph: " + status.message());
  }
  if (trace != nullptr) {
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    trace->entries.push_back({std::string(name), changed, took.count(), graph.size(), {}});
  }
  if (IsWanted(options, name)) options.print(name, graph);
  return {};
}

// What the kernels read of the graph in the precision that the options ask for.
graph::PackedReads PackedReadsOf(const FrontOptions& options) {
  graph::PackedReads reads = options.packed_reads;
  if (options.precision == graph::Precision::kModel) return reads;
  reads.narrows =
      options.precision == graph::Precision::kFp16 || options.precision == graph::Precision::kBf16;
  if (!reads.narrow || !reads.narrows) reads.rows = 0;
  return reads;
}

}  // namespace

std::vector<std::string> PassTrace::Notes() const {
  std::vector<std::string> notes;
  for (const Entry& entry : entries) {
    notes.insert(notes.end(), entry.notes.begin(), entry.notes.end());
  }
  return notes;
}

FrontOptions ForTarget(FrontOptions options, const target::Target& target) {
  const backend::Backend& backend = backend::BackendOf(target);
  options.rules = backend.rules;
  options.pad_channels = backend.pad_channels;
  options.computes_masks = backend.computes_masks;
  options.multiplies_bytes = true;
  // Without dot products of bytes, a filter is faster in floats.
  const auto* cpu = target.As<target::CpuTarget>();
  options.multiplies_byte_filters = cpu != nullptr && cpu->isa == target::Isa::kAvx512Vnni;
  const auto* gpu = target.As<target::GpuTarget>();
  options.rules.reads_images = gpu != nullptr && gpu->compute >= 80;
  options.multiplies_float8 = gpu != nullptr && gpu->HasWarpgroupMma();
  options.packed_reads = backend.packed_reads;
  for (const std::string_view pass : backend.skipped_passes) options.skip.emplace(pass);
  return options;
}

double ToleranceOf(const FrontOptions& options) {
  return options.tolerance.value_or(graph::ToleranceOf(options.precision));
}

std::vector<std::string> PassNames() {
  std::vector<std::string> names = {std::string(kFloat8Products), std::string(kDecodeWeights),
                                    std::string(kIntegerProducts), std::string(kFloat8Weights)};
  for (const graph::Pass& pass : graph::Passes()) names.emplace_back(pass.name);
  names.emplace_back(kHideKeys);
  names.emplace_back(kDecodeWeights);
  names.emplace_back(kMergeScales);
  names.emplace_back(kPrecision);
  names.emplace_back(kCausalMasks);
  names.emplace_back(kPadChannels);
  for (std::string_view name : graph::PhysicalPassNames()) names.emplace_back(name);
  return names;
}

Result<graph::Graph> SimplifyGraph(graph::Graph graph, const FrontOptions& options,
                                   PassTrace* trace) {
  MLC_TRY(CheckNames(options));
  MLC_TRY(graph.Verify());
  MLC_TRY(RunOptional(kFloat8Products, graph, options, trace,
                      [&](graph::Graph& at) { return MultiplyFloat8(at, options); }));
  MLC_TRY(RunOptional(kDecodeWeights, graph, options, trace, [&](graph::Graph& at) {
    return graph::DecodeUnread(at, PackedReadsOf(options));
  }));
  MLC_TRY(RunOptional(kIntegerProducts, graph, options, trace, [&](graph::Graph& at) {
    return MultipliesBytes(options) ? graph::MultiplyBytes(at, options.multiplies_byte_filters)
                                    : graph::SpellOutProductsOfBytes(at);
  }));
  MLC_TRY(RunOptional(kFloat8Weights, graph, options, trace, [&](graph::Graph& at) -> Result<bool> {
    if (options.skip.contains(kFloat8Weights)) return false;
    return graph::PackFloat8Weights(at, PackedReadsOf(options));
  }));
  const std::vector<graph::PassReport> reports =
      MLC_TRY(graph::RunPasses(graph, LogicalOptions(options)));
  if (trace != nullptr) {
    for (const graph::PassReport& report : reports) {
      trace->entries.push_back({std::string(report.name), report.changed, report.milliseconds,
                                report.values_after, report.notes});
    }
  }
  MLC_TRY(RunOptional(kHideKeys, graph, options, trace, [&](graph::Graph& at) -> Result<bool> {
    return options.takes_ranges ? graph::HideKeys(at) : Result<bool>(false);
  }));
  MLC_TRY(RunOptional(kDecodeWeights, graph, options, trace, [&](graph::Graph& at) {
    return graph::DecodeOtherWeights(at, PackedReadsOf(options));
  }));
  MLC_TRY(RunOptional(kMergeScales, graph, options, trace, [&](graph::Graph& at) -> Result<bool> {
    if (!MultipliesBytes(options) || options.skip.contains(kMergeScales)) return false;
    return graph::MergeScales(at);
  }));
  MLC_TRY(RunOptional(kPrecision, graph, options, trace, [&](graph::Graph& at) {
    return graph::ConvertPrecision(at, options.precision);
  }));
  MLC_TRY(RunOptional(kCausalMasks, graph, options, trace, [&](graph::Graph& at) -> Result<bool> {
    if (!options.computes_masks || options.skip.contains(kCausalMasks)) return false;
    return graph::ComputeCausalMasks(at);
  }));
  MLC_TRY(RunOptional(kPadChannels, graph, options, trace, [&](graph::Graph& at) -> Result<bool> {
    if (!options.pad_channels || options.skip.contains(kPadChannels)) return false;
    return graph::PadChannels(at, options.rules.reads_images);
  }));
  return graph;
}

Result<graph::Program> BuildProgram(graph::Graph graph, const FrontOptions& options,
                                    PassTrace* trace) {
  graph::Graph simplified = MLC_TRY(SimplifyGraph(std::move(graph), options, trace));
  return graph::BuildPhysical(std::move(simplified), PhysicalPart(options, trace));
}

Result<Model> ReadModel(const std::string& path, const graph::onnx::ImportOptions& import) {
  return ReadBounded(path, import);
}

Result<graph::Program> CompileModel(Model model, const FrontOptions& options, PassTrace* trace) {
  FrontOptions own = options;
  own.takes_ranges = model.takes_ranges;
  graph::Program program = MLC_TRY(BuildProgram(std::move(model.graph), own, trace));
  program.counted = std::move(model.counted);
  // The passes have read the weights; packing and evaluation read them again, one by one.
  for (const graph::onnx::MappedFileRef& file : model.files) file->DropPages();
  return program;
}

Result<graph::Program> CompileFront(const std::string& model_path,
                                    const graph::onnx::ImportOptions& import,
                                    const FrontOptions& options, PassTrace* trace) {
  MLC_TRY(CheckNames(options));
  return CompileModel(MLC_TRY(ReadModel(model_path, import)), options, trace);
}

}  // namespace mlc::front
