#include "client/compile/compile_options.h"

#include <CLI/CLI.hpp>
#include <iostream>

#include "base/process/arguments.h"
#include "base/rpc/flags.h"
#include "base/settings/setting_table.h"
#include "base/settings/settings.h"
#include "base/version.h"
#include "client/model/constants.h"
#include "client/model/tolerance_flag.h"
#include "client/target/target_choice.h"
#include "compiler/front/front.h"

namespace mlc::client {
namespace {

constexpr char kFooter[] =
    "Examples\n"
    "  mlc-compile --model resnet50.onnx --log tuning.db -o resnet50\n"
    "  mlc-compile --model resnet50.onnx --log tuning.db --emit=asm --task 3\n"
    "  mlc-compile --model resnet50.onnx --server tuner.lab:7443 --require-tuned -o resnet50";

consteval const char* SettingHelp(std::string_view name) {
  return settings::HelpOf(settings::Program::kCompile, name);
}

void AddCommonOptions(CLI::App& app, CompileOptions& options) {
  transport::BeginGroup(app, "Common");
  app.get_help_ptr()->group("Common");
  app.set_version_flag("--version", VersionText("mlc-compile"));
  app.add_option("--model", options.model, "ONNX file")->required();
  auto* log = app.add_option("--log", options.log, SettingHelp("log"));
  app.add_option("--server", options.server.address, SettingHelp("server"))->excludes(log);
  app.add_option("-o,--output", options.output, "folder of the library; made if needed");
  app.add_option("--name", options.name,
                 "names files and symbols: a-z, 0-9, _; default: from the folder");
  app.add_option("--target", options.target, TargetHelp() + SettingHelp("target"))
      ->capture_default_str();
}

void AddKernelOptions(CLI::App& app, CompileOptions& options) {
  transport::BeginGroup(app, "Choice of kernels");
  app.add_flag("--require-tuned", options.require_tuned,
               "fail if a task has no record (exit code 3)");
  app.add_option("--transfer", options.transfer,
                 "for a task without a record: on transfers the fast config of a similar task "
                 "in the log, off takes the family's default")
      ->check(CLI::IsMember({"on", "off"}))
      ->capture_default_str();
  app.add_flag("--no-note-untuned", options.no_note_untuned,
               "do not list tasks without a record for mlc-log untuned, in a file beside the log");
  app.add_option("--user-kernels", options.user_kernels,
                 "use a user-supplied kernel if it is the fastest of the log: on or off")
      ->check(CLI::IsMember({"on", "off"}))
      ->capture_default_str();
  app.add_flag("--reproducible", options.reproducible,
               "the same log and model give the same kernels, whatever the order of the log's "
               "records; a kernel keeps its place unless a later tuning found one that is faster "
               "beyond doubt (by more than 5 %)")
      ->excludes(app.get_option("--server"));
  auto* lock = app.add_option("--lock", options.lock, "write the lock file there");
  auto* keep = app.add_option("--keep", options.keep,
                              "keep the kernels of this earlier lock file, except where another is "
                              "faster beyond doubt (by more than 5 %)");
  app.add_option("--locked", options.locked, "use exactly the kernels of this lock file")
      ->excludes(lock)
      ->excludes(keep)
      ->excludes(app.get_option("--server"))
      ->excludes(app.get_option("--reproducible"));
}

void AddModelOptions(CLI::App& app, CompileOptions& options) {
  transport::BeginGroup(app, "The model and its library");
  app.add_option("--threads", options.threads, SettingHelp("threads"))->check(CLI::Range(0, 1024));
  app.add_option("--dim", options.dims,
                 "NAME=N: size of a symbolic dimension; NAME=1,8,32 and NAME=64..512:64: several "
                 "sizes, all combinations of which the library has; NAME=1..512: any size of the "
                 "range, padded to a size class");
  app.add_option("--constant", options.constants, kConstantHelp);
  app.add_option(
         "--precision", options.precision,
         "element type of the computation: model (its own), fp32, tf32, fp16, bf16; inputs and "
         "outputs keep their types")
      ->check(CLI::IsMember({"model", "fp32", "tf32", "fp16", "bf16"}))
      ->capture_default_str();
  AddToleranceFlag(app, options.tolerance,
                   "of each task, over its largest magnitude; 0: no approximate algorithm, such as "
                   "Winograd's; default: 1e-4, or what the precision needs");
  app.add_option("--skip-pass", options.skipped_passes,
                 "leave this pass out, for example merge_siblings; as when tuning");
  app.add_option("--weights", options.weights, "embed in the library, or a file beside it")
      ->check(CLI::IsMember({"embed", "file"}))
      ->capture_default_str();
  transport::BeginGroup(app, "For GPUs");
  app.add_option("--cuda-home", options.cuda_home, SettingHelp("cuda-home"));
  app.add_option("--cubin-cache", options.cubin_cache, SettingHelp("cubin-cache"));
}

void AddStageOptions(CLI::App& app, CompileOptions& options) {
  transport::BeginGroup(app, "Output and stages");
  app.add_option("--emit", options.emit,
                 "print a stage instead: graph, tasks, ir, llvm, asm; for GPUs cuda, ptx")
      ->check(CLI::IsMember({"graph", "tasks", "ir", "llvm", "asm", "cuda", "ptx"}));
  app.add_option("--task", options.task, "with --emit=ir and later stages: this task only");
  app.add_option("--print-after", options.print_after, "print the graph after this pass, or all")
      ->check([](const std::string& pass) {
        if (pass == "all") return std::string();
        std::string known;
        for (const std::string& name : front::PassNames()) {
          if (name == pass) return std::string();
          known += " " + name;
        }
        return "unknown pass; use all or one of:" + known;
      });
  app.add_flag("--json", options.json, "print the report as JSON");
  app.add_flag("--verbose", options.verbose, "passes and their times, on stderr");
}

}  // namespace

std::optional<CompileOptions> ReadCompileOptions(int argc, char** argv,
                                                 const settings::Lookup& lookup, int& exit_code) {
  CLI::App app{"Writes a library from an ONNX model and a tuning log.", "mlc-compile"};
  app.footer(kFooter);
  CompileOptions options;
  settings::Settings settings(settings::Program::kCompile, lookup);
  AddCommonOptions(app, options);
  settings.AddFlags(app);
  AddKernelOptions(app, options);
  AddModelOptions(app, options);
  AddStageOptions(app, options);
  transport::BeginGroup(app, "With --server");
  transport::AddClientFlags(app, options.server);
  if (const std::optional<int> end = settings.Parse(app, argc, argv, std::cout, std::cerr)) {
    exit_code = *end;
    return std::nullopt;
  }
  if (options.output.empty() && options.emit.empty() && options.print_after.empty()) {
    exit_code = transport::EndUsage("--output, --emit or --print-after is required", std::cerr);
    return std::nullopt;
  }
  return options;
}

}  // namespace mlc::client
