#include "client/compile/compile_options.h"

#include <CLI/CLI.hpp>

#include "base/process/arguments.h"
#include "base/rpc/flags.h"
#include "base/version.h"
#include "client/model/tolerance_flag.h"
#include "client/target/target_choice.h"
#include "compiler/front/front.h"

namespace mlc::client {
namespace {

constexpr char kAtServer[] =
    "; auto is what the log, the lock file or the server has records of, if that is this machine's "
    "or one class; with --server, cpu and cuda are what it has records of, if that is one class";

constexpr char kFooter[] =
    "Examples\n"
    "  mlc-compile --model resnet50.onnx --log tuning.db -o resnet50\n"
    "  mlc-compile --model resnet50.onnx --log tuning.db --emit=asm --task 3\n"
    "  mlc-compile --model resnet50.onnx --server tuner.lab:7443 --require-tuned -o resnet50";

// --help lists groups, and options in them, in the order in which they are added.
void BeginGroup(CLI::App& app, const char* name) { app.option_defaults()->group(name); }

void AddCommonOptions(CLI::App& app, CompileOptions& options) {
  BeginGroup(app, "Common");
  app.get_help_ptr()->group("Common");
  app.set_version_flag("--version", VersionText("mlc-compile"));
  app.add_option("--model", options.model, "ONNX file")->required();
  auto* log = app.add_option("--log", options.log, "tuning log or snapshot with the best kernels");
  app.add_option("--server", options.server.address,
                 "mlc-server to ask for the best kernels instead, in one call")
      ->excludes(log);
  app.add_option("-o,--output", options.output, "folder of the library; made if needed");
  app.add_option("--name", options.name,
                 "names files and symbols: a-z, 0-9, _; default: from the folder");
  app.add_option("--target", options.target, TargetHelp() + kAtServer)->capture_default_str();
}

void AddKernelOptions(CLI::App& app, CompileOptions& options) {
  BeginGroup(app, "Choice of kernels");
  app.add_flag("--require-tuned", options.require_tuned,
               "fail if a task has no record (exit code 3)");
  app.add_option("--transfer", options.transfer,
                 "for a task without a record: on transfers the fast config of a similar task "
                 "in the log, off takes the family's default")
      ->check(CLI::IsMember({"on", "off"}))
      ->capture_default_str();
  app.add_option("--user-kernels", options.user_kernels,
                 "user-supplied kernels, where the log has them as the fastest: "
                 "on takes them, off does not")
      ->check(CLI::IsMember({"on", "off"}))
      ->capture_default_str();
  auto* lock = app.add_option("--lock", options.lock, "write the lock file there");
  app.add_option("--locked", options.locked, "use exactly the kernels of this lock file")
      ->excludes(lock)
      ->excludes(app.get_option("--server"));
}

void AddModelOptions(CLI::App& app, CompileOptions& options) {
  BeginGroup(app, "The model and its library");
  app.add_option("--threads", options.threads,
                 "threads the kernels are chosen for; 0 means one for each core of one socket")
      ->check(CLI::Range(0, 1024));
  app.add_option("--dim", options.dims, "NAME=N: size of a symbolic dimension");
  app.add_option("--precision", options.precision,
                 "what the model computes in: model (its own), fp32, tf32, fp16, bf16; inputs and "
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
  BeginGroup(app, "For GPUs");
  app.add_option("--cuda-home", options.cuda_home, "where NVRTC is; default: the usual places");
  app.add_option("--cubin-cache", options.cubin_cache,
                 "folder of compiled device code, or off; default: mlc-tune/cubins in "
                 "the user's cache folder");
}

void AddStageOptions(CLI::App& app, CompileOptions& options) {
  BeginGroup(app, "Output and stages");
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

std::optional<CompileOptions> ReadCompileOptions(int argc, char** argv, int& exit_code) {
  CLI::App app{"Writes a library from an ONNX model and a tuning log."};
  app.footer(kFooter);
  CompileOptions options;
  AddCommonOptions(app, options);
  AddKernelOptions(app, options);
  AddModelOptions(app, options);
  AddStageOptions(app, options);
  BeginGroup(app, "With --server");
  transport::AddClientFlags(app, options.server);
  try {
    app.parse(argc, argv);
    if (options.output.empty() && options.emit.empty() && options.print_after.empty()) {
      throw CLI::RequiredError("--output, --emit or --print-after");
    }
  } catch (const CLI::ParseError& error) {
    exit_code = transport::EndParsing(app, error);
    return std::nullopt;
  }
  return options;
}

}  // namespace mlc::client
