// mlc-compile: a model and the best kernels of a log become a library that stands alone.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/exit_code.h"
#include "base/machine/cpus.h"
#include "base/process/standard_files.h"
#include "base/process/standard_output.h"
#include "base/write_text.h"
#include "client/compile/bounded_steps.h"
#include "client/compile/choose_kernels.h"
#include "client/compile/compile_options.h"
#include "client/compile/compile_report.h"
#include "client/compile/emit.h"
#include "client/compile/keep_winners.h"
#include "client/compile/library_options.h"
#include "client/compile/notes.h"
#include "client/compile/server_best.h"
#include "client/compile/shared_kernels.h"
#include "client/compile/shared_layouts.h"
#include "client/compile/variants.h"
#include "client/model/constants.h"
#include "client/model/dims.h"
#include "client/model/model_variants.h"
#include "client/model/sized_model.h"
#include "client/service/server_target.h"
#include "client/service/tuner_client.h"
#include "client/target/auto_target.h"
#include "client/target/target_choice.h"
#include "compiler/backend/backend.h"
#include "compiler/front/front.h"
#include "compiler/graph/physical/program_text.h"
#include "compiler/package/library.h"
#include "compiler/package/lock_file.h"
#include "compiler/package/plans.h"
#include "compiler/schedule/space/family.h"
#include "db/sqlite/sqlite_log.h"

namespace mlc::client {
namespace {

void Print(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

const char* Variable(const char* name) { return std::getenv(name); }

// Where kernels come from: a server that is connected, or files.
struct Source {
  std::optional<TunerClient> server;
};

Result<Source> OpenSource(const CompileOptions& options) {
  Source source;
  if (options.server.address.empty()) return source;
  source.server = MLC_TRY(TunerClient::Connect(options.server));
  return source;
}

Result<package::LockFile> ReadLock(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  // Not "nothing found": that exit code tells of untuned tasks.
  if (!in) return InvalidArgument("cannot read '" + path + "'");
  Result<package::LockFile> lock =
      package::LockFile::Parse(std::string{std::istreambuf_iterator<char>(in), {}});
  if (!lock.ok()) return lock.status().WithPrefix("'" + path + "'");
  return lock;
}

// Classes of the records that kernels are taken from, and where these are.
struct Recorded {
  std::vector<std::string> classes;
  std::string where;
};

Result<Recorded> RecordedOf(const CompileOptions& options, Source& source) {
  if (!options.locked.empty()) {
    return Recorded{{MLC_TRY(ReadLock(options.locked)).target_class}, "the lock file"};
  }
  if (source.server) return Recorded{MLC_TRY(TargetsOfRecords(*source.server)), "the server"};
  const std::unique_ptr<db::TuningLog> log = MLC_TRY(db::OpenSqliteLogForReading(options.log));
  return Recorded{MLC_TRY(log->Targets()), "the log"};
}

Result<target::Target> ChooseByItself(const CompileOptions& options, Source& source) {
  const Machine machine = LookAtMachine(target::ThreadsFor(options.threads), options.cuda_home);
  AutoTarget chosen = ChooseForMachine(machine, Work::kCompile);
  if (source.server || !options.locked.empty() || !options.log.empty()) {
    const Recorded recorded = MLC_TRY(RecordedOf(options, source));
    chosen = ChooseAmongRecords(recorded.classes, machine, options.threads, recorded.where);
  }
  if (!options.json) std::fprintf(stderr, "%s\n", chosen.Line().c_str());
  return chosen.target;
}

Result<target::Target> TargetOf(const CompileOptions& options, Source& source) {
  if (options.target == kAutoTarget) return ChooseByItself(options, source);
  if (source.server) return TargetOfRecords(*source.server, options.target, options.threads);
  return ChooseTarget(options.target, target::ThreadsFor(options.threads));
}

Winner WinnerOf(const CompileOptions& options) {
  return options.reproducible ? Winner::kKept : Winner::kFastest;
}

Result<std::vector<package::Choice>> ChooseAny(const CompileOptions& options,
                                               const graph::Program& program,
                                               const target::Target& target, Source& source,
                                               Transfer transfer) {
  const UserKernels user_kernels =
      options.user_kernels == "on" ? UserKernels::kUse : UserKernels::kIgnore;
  if (!options.locked.empty()) {
    return ChooseFromLock(program, target, MLC_TRY(ReadLock(options.locked)), user_kernels);
  }
  std::unique_ptr<db::TuningLog> log;
  std::unique_ptr<KernelSource> kernels;
  if (source.server) {
    const proto::BestReply best =
        MLC_TRY(source.server->Best(BestRequestOf(program, target, transfer, user_kernels)));
    kernels = MLC_TRY(MakeServerSource(program, best));
  } else if (!options.log.empty()) {
    log = MLC_TRY(db::OpenSqliteLogForReading(options.log));
    kernels = MakeLogSource(*log, target.ClassText(), WinnerOf(options));
  }
  std::vector<package::Choice> choices =
      MLC_TRY(ChooseFrom(program, target, kernels.get(), transfer, user_kernels));
  if (options.keep.empty()) return choices;
  return KeepWinners(program, target, MLC_TRY(ReadLock(options.keep)), std::move(choices),
                     kernels.get(), user_kernels);
}

// The model, and what it is compiled for.
struct Compilation {
  const CompileOptions& options;
  const front::Model& model;
  const front::FrontOptions& front;
  const target::Target& target;
};

// A variant to be built.
struct Chosen {
  Variant variant;
  std::string note;  // for people: why not the usual one; empty: it is
};

Result<Variant> WithKernels(const Compilation& compilation, Source& source, graph::Program program,
                            Transfer transfer) {
  Variant variant{std::move(program), {}, {}};
  variant.choices = MLC_TRY(
      ChooseAny(compilation.options, variant.program, compilation.target, source, transfer));
  return variant;
}

// The usual variant with its kernels, or another one that is measured faster.
Result<Chosen> ChooseVariant(const Compilation& compilation, Source& source, graph::Program program,
                             const front::PassTrace& trace) {
  const CompileOptions& options = compilation.options;
  const Transfer transfer = options.transfer == "on" ? Transfer::kUse : Transfer::kIgnore;
  // A lock file pins one variant; of what is measured, the fastest one is taken.
  const bool locked = !options.locked.empty();
  const bool measured = source.server || !options.log.empty();
  Result<Variant> usual = WithKernels(compilation, source, std::move(program), transfer);
  const Status found = usual.status();
  if (!found.ok() && !locked) return found;
  Variant best = found.ok() ? *std::move(usual) : Variant();
  if (found.ok() && (locked || !measured)) return Chosen{std::move(best), ""};
  const double usual_ns = MeasuredNs(best);
  for (const ModelVariant& described : VariantsOf(trace, compilation.target)) {
    if (described.difference.empty()) continue;
    graph::Program other =
        MLC_TRY(front::CompileModel(compilation.model, OptionsFor(compilation.front, described)));
    Result<Variant> variant = WithKernels(compilation, source, std::move(other), Transfer::kIgnore);
    if (!variant.ok()) continue;
    variant->difference = described.difference;
    if (!found.ok()) return Chosen{*std::move(variant), ""};
    best = Faster(std::move(best), *std::move(variant));
  }
  if (!found.ok()) return found;
  std::string note = NoteOn(best, usual_ns);
  return Chosen{std::move(best), std::move(note)};
}

Result<Chosen> Choose(const Compilation& compilation, Source& source, graph::Program program,
                      const front::PassTrace& trace) {
  const CompileOptions& options = compilation.options;
  Chosen chosen = MLC_TRY(ChooseVariant(compilation, source, std::move(program), trace));
  if (!options.require_tuned) return chosen;
  const Variant& variant = chosen.variant;
  std::string untuned;
  for (size_t i = 0; i < variant.choices.size(); ++i) {
    if (IsTuned(variant.choices[i])) continue;
    untuned += "; " + variant.program.tasks[i].workload.Summary();
  }
  if (untuned.empty()) return chosen;
  const std::string where = !options.locked.empty() ? "lock file"
                            : source.server         ? "server"
                                                    : "log";
  const std::string how = source.server         ? " --server " + options.server.address
                          : options.log.empty() ? " --log tuning.db"
                                                : " --log " + options.log;
  return NotFound("--require-tuned: the " + where + " has no usable record for" +
                  untuned.substr(1) + ": run mlc-tune --model " + options.model + how);
}

Result<ExitCode> Emit(const Compilation& compilation, Stage stage, Source& source,
                      graph::Program program, const front::PassTrace& trace) {
  const CompileOptions& options = compilation.options;
  if (stage == Stage::kTasks) {
    Print(TasksText(program));
    return ExitCode::kOk;
  }
  const Variant variant = MLC_TRY(Choose(compilation, source, std::move(program), trace)).variant;
  Print(MLC_TRY(KernelsText(stage, variant.program, variant.choices, compilation.target,
                            options.task, options.cuda_home)));
  return ExitCode::kOk;
}

Result<ExitCode> EmitGraph(const CompileOptions& options, const Dims& dims,
                           const Constants& constants, const front::FrontOptions& front) {
  graph::onnx::ImportOptions import;
  import.dims = dims;
  import.bound_inputs = constants;
  front::Model model = MLC_TRY(front::ReadModel(options.model, import));
  Print(MLC_TRY(front::SimplifyGraph(std::move(model.graph), front)).ToText() + "\n");
  return ExitCode::kOk;
}

Status WriteReports(const CompileOptions& options, const CompileReport& report,
                    const package::LockFile& lock, const std::string& name) {
  const std::string lock_path =
      options.lock.empty() ? options.output + "/" + name + ".lock" : options.lock;
  MLC_TRY(WriteText(lock_path, lock.ToText()));
  MLC_TRY(WriteText(options.output + "/report.txt", ToText(report)));
  return WriteText(options.output + "/report.json", ToJson(report));
}

// `chosen`: what was chosen before classes shared kernels.
Result<ExitCode> Report(const CompileOptions& options, const std::string& name,
                        const CompileReport& report, const package::LockFile& chosen = {}) {
  package::LockFile lock = LockOf(report.program, report.target, report.choices);
  lock.choices.insert(chosen.choices.begin(), chosen.choices.end());
  MLC_TRY(WriteReports(options, report, lock, name));
  Print(options.json ? ToJson(report)
                     : ToText(report) + "wrote " + report.library.shared_library + "\n");
  return ExitCode::kOk;
}

// A model at one combination of sizes.
struct Front {
  front::Model model;
  graph::Program program;
  front::PassTrace trace;
};

Result<Front> ReadAt(SizedModel& sized, size_t at, const front::FrontOptions& front) {
  Front read;
  read.model = MLC_TRY(sized.Take(at));
  read.program = MLC_TRY(front::CompileModel(read.model, front, &read.trace));
  return read;
}

Result<ExitCode> CompileOneSize(const CompileOptions& options, const DimSizes& sizes,
                                const Constants& constants, Source& source,
                                const target::Target& target, const front::FrontOptions& front) {
  SizedModel sized = MLC_TRY(SizedModel::Open(options.model, sizes, constants));
  Front read = MLC_TRY(ReadAt(sized, 0, front));
  const Compilation compilation{options, read.model, front, target};
  SayNotes(options, read.trace);
  if (!options.emit.empty()) {
    return Emit(compilation, MLC_TRY(ParseStage(options.emit)), source, std::move(read.program),
                read.trace);
  }
  if (options.output.empty()) return ExitCode::kOk;  // --print-after alone
  const package::LibraryOptions library = LibraryOptionsOf(options, Variable);
  const Chosen chosen = MLC_TRY(Choose(compilation, source, std::move(read.program), read.trace));
  const Variant& variant = chosen.variant;
  NoteUntuned(options, variant, target);
  read.model = {};  // the library needs what the variant holds, and no more
  const package::LibraryReport written =
      MLC_TRY(package::WriteLibrary(variant.program, variant.choices, target, library));
  SayCache(options, library.cubin_cache, written);
  return Report(options, library.name,
                {variant.program, variant.choices, target, written, chosen.note});
}

// What the plans of a library of several sizes are collected in.
struct Collected {
  SizedModel model;
  SharedLayouts layouts;
  std::vector<ClassPlan> plans = {};  // the largest sizes first
  package::LockFile lock = {};        // of all classes
  std::string notes = "";             // why a variant is not the usual one
};

Status AddPlan(const CompileOptions& options, const DimSizes& sizes, size_t at, Source& source,
               const target::Target& target, const front::FrontOptions& front, Collected& all) {
  Front read = MLC_TRY(ReadAt(all.model, at, front));
  if (at == 0) SayNotes(options, read.trace);
  const Compilation compilation{options, read.model, front, target};
  auto [variant, note] = MLC_TRY(Choose(compilation, source, std::move(read.program), read.trace));
  NoteUntuned(options, variant, target);
  // A lock file pins what was chosen.
  if (options.locked.empty()) MLC_TRY(all.layouts.Share(variant.program, variant.choices));
  if (!note.empty()) {
    all.notes = sizes.TextAt(at) + ": " + note + (all.notes.empty() ? "" : "\n") + all.notes;
  }
  ClassPlan plan{
      std::move(variant.program), std::move(variant.choices), {}, all.model.IsInLargest(at)};
  if (all.model.forms() != nullptr) {
    if (backend::BackendOf(target).limits_rows) {
      plan.rows = MLC_TRY(RowsOfClass(all.model, at, plan.program, front));
    }
    all.lock.choices.merge(LockOf(plan.program, target, plan.choices).choices);
  }
  all.plans.push_back(std::move(plan));
  return {};
}

Result<package::MergedPrograms> Merge(const DimSizes& sizes, const target::Target& target,
                                      Collected& all) {
  package::PlanMerger merger(sizes.varying, RangesOf(sizes, all.model));
  if (all.model.forms() != nullptr && backend::BackendOf(target).limits_rows) {
    SharedKernels kernels(target, sizes.varying.size());
    kernels.Share(all.plans, HiddenInputOf(all.model, all.plans.front().program));
  }
  size_t at = all.plans.size();
  for (ClassPlan& plan : all.plans) {
    MLC_TRY(merger.Add(sizes.SizesAt(--at), std::move(plan.program), plan.choices,
                       std::move(plan.rows)));
  }
  return merger.Take();
}

Result<ExitCode> CompileSizes(const CompileOptions& options, const DimSizes& sizes,
                              const Constants& constants, Source& source,
                              const target::Target& target, const front::FrontOptions& front) {
  if (options.output.empty()) {
    return InvalidArgument(
        "--emit and --print-after show one size: give one size of each dimension with --dim");
  }
  std::unique_ptr<db::TuningLog> log;
  std::unique_ptr<KernelSource> records;
  if (!options.log.empty()) {
    log = MLC_TRY(db::OpenSqliteLogForReading(options.log));
    records = MakeLogSource(*log, target.ClassText(), WinnerOf(options));
  }
  Collected all{MLC_TRY(SizedModel::Open(options.model, sizes, constants)),
                SharedLayouts(target, records.get())};
  // The largest sizes, which take the longest, come first: the others share their layouts.
  for (size_t i = sizes.combinations.size(); i-- > 0;) {
    const Status added = AddPlan(options, sizes, i, source, target, front, all);
    if (!added.ok()) return added.WithPrefix("with " + sizes.TextAt(i));
  }
  const package::MergedPrograms merged = MLC_TRY(Merge(sizes, target, all));
  const package::LibraryOptions library = LibraryOptionsOf(options, Variable);
  const package::LibraryReport written = MLC_TRY(package::WriteLibrary(merged, target, library));
  return Report(options, library.name,
                {merged.program, merged.choices, target, written, all.notes, &merged.plans},
                all.lock);
}

Result<ExitCode> Compile(const CompileOptions& options) {
  Source source = MLC_TRY(OpenSource(options));
  const target::Target target = MLC_TRY(TargetOf(options, source));
  const DimSizes sizes = MLC_TRY(ParseDimSizes(options.dims, ClassStepsFor(target)));
  front::FrontOptions front = MLC_TRY(FrontOptionsOf(options, target));
  front.print = [](std::string_view pass, const graph::Graph& graph) {
    Print("# after " + std::string(pass) + "\n" + graph.ToText() + "\n");
  };
  const Constants constants = MLC_TRY(ReadConstants(options.model, options.constants));
  if (sizes.varies()) return CompileSizes(options, sizes, constants, source, target, front);
  if (options.emit == "graph") {
    return EmitGraph(options, sizes.combinations.front(), constants, front);
  }
  return CompileOneSize(options, sizes, constants, source, target, front);
}

int Main(int argc, char** argv) {
  int exit_code = 0;
  const std::optional<CompileOptions> options = ReadCompileOptions(argc, argv, Variable, exit_code);
  if (!options) return exit_code;
  const Result<ExitCode> result = Compile(*options);
  if (result.ok()) return static_cast<int>(*result);
  std::fprintf(stderr, "mlc-compile: %s\n", result.status().message().c_str());
  return static_cast<int>(ExitCodeOf(result.status()));
}

}  // namespace
}  // namespace mlc::client

int main(int argc, char** argv) {
  mlc::transport::OpenStandardFiles();
  mlc::transport::EnableChildWait();
  return mlc::transport::EndProgram("mlc-compile", mlc::client::Main(argc, argv));
}
