// mlc-log: looks into a tuning log and moves records between logs.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/exit_code.h"
#include "base/machine/cpus.h"
#include "base/process/arguments.h"
#include "base/process/standard_files.h"
#include "base/process/standard_output.h"
#include "base/version.h"
#include "client/log/coverage.h"
#include "client/log/log_commands.h"
#include "client/log/merge_command.h"
#include "client/log/tuned_kernels.h"
#include "client/log/untuned_command.h"
#include "client/model/constants.h"
#include "client/model/dims.h"
#include "client/model/sized_model.h"
#include "client/model/tolerance_flag.h"
#include "client/target/target_choice.h"
#include "compiler/front/front.h"
#include "db/json_lines.h"
#include "db/replaceable.h"
#include "db/report/write_report.h"
#include "db/snapshot/merge.h"
#include "db/snapshot/snapshot.h"
#include "db/snapshot/snapshot_folder.h"
#include "db/sqlite/sqlite_log.h"

namespace mlc::client {
namespace {

struct Flags {
  LogOptions log;
  std::string what;
  std::string model;
  std::vector<std::string> dims;
  std::vector<std::string> constants;
  std::string precision = "model";
  std::string other;
  std::vector<std::string> others;
  std::string trust = "all";
  std::string folder;
  db::SnapshotPolicy policy;
  std::optional<double> tolerance;
  report::JobChoice job;
};

// A model is cut into tasks for one target: the given one, else the log's only one, else this
// machine's CPU.
Result<target::Target> TargetOfModel(const Flags& flags) {
  std::string text = flags.log.target;
  if (text.empty()) {
    const auto log = MLC_TRY(db::OpenSqliteLogForReading(flags.log.file));
    const std::vector<std::string> known = MLC_TRY(log->Targets());
    text = known.size() == 1 ? known[0] : "cpu";
  }
  return ChooseTarget(text, target::DefaultThreads());
}

Result<std::vector<Digest>> WorkloadsOfModel(const Flags& flags, const target::Target& target) {
  front::FrontOptions options;
  options.precision = MLC_TRY(graph::ParsePrecision(flags.precision));
  options.tolerance = flags.tolerance;
  options = front::ForTarget(std::move(options), target);
  std::vector<Digest> keys;
  const DimSizes sizes = MLC_TRY(ParseDimSizes(flags.dims, ClassStepsFor(target)));
  const Constants constants = MLC_TRY(ReadConstants(flags.model, flags.constants));
  SizedModel sized = MLC_TRY(SizedModel::Open(flags.model, sizes, constants));
  for (size_t i = 0; i < sizes.combinations.size(); ++i) {
    const graph::Program program = MLC_TRY(front::CompileModel(MLC_TRY(sized.Take(i)), options));
    for (const graph::Task& task : program.tasks) {
      const Digest key = task.workload.digest();
      if (std::ranges::find(keys, key) == keys.end()) keys.push_back(key);
    }
  }
  return keys;
}

using WorkloadsCommand = Result<std::string> (*)(const LogOptions&, const std::vector<Digest>&);

Result<std::string> Ask(const Flags& flags, WorkloadsCommand command) {
  if (flags.model.empty()) return command(flags.log, {MLC_TRY(WorkloadKeyOf(flags.what))});
  const target::Target target = MLC_TRY(TargetOfModel(flags));
  LogOptions log = flags.log;
  log.target = target.ClassText();
  return command(log, MLC_TRY(WorkloadsOfModel(flags, target)));
}

Status ExportTo(const Flags& flags) {
  const auto log = MLC_TRY(db::OpenSqliteLogForReading(flags.log.file));
  if (flags.other.empty() || flags.other == "-") return db::Export(*log, std::cout);
  MLC_TRY(db::CheckReplaceable(flags.other, flags.log.file));
  return db::ExportToFile(*log, flags.other);
}

Result<std::string> ImportFrom(const Flags& flags) {
  std::ifstream in(flags.other);
  if (!in) return NotFound("cannot read " + flags.other);
  const auto log = MLC_TRY(db::OpenSqliteLog(flags.log.file));
  const Result<db::ImportCounts> counts = db::Import(in, *log);
  if (!counts.ok()) return counts.status().WithPrefix(flags.other);
  return std::to_string(counts->added) + " records added, " + std::to_string(counts->duplicates) +
         " known already\n";
}

std::string SnapshotText(const std::string& path, const db::SnapshotInfo& info) {
  return path + ": " + std::to_string(info.records) + " records, " + std::to_string(info.bytes) +
         " bytes, content " + info.content.ToText() + "\n";
}

std::string SnapshotJson(const std::string& path, const db::SnapshotInfo& info) {
  nlohmann::ordered_json json;
  json["schema"] = "mlc.log.snapshot/1";
  json["path"] = path;
  json["records"] = info.records;
  json["bytes"] = info.bytes;
  json["content"] = info.content.ToText();
  return json.dump() + "\n";
}

Result<std::string> SnapshotTo(const Flags& flags) {
  std::string path = flags.other;
  db::SnapshotInfo info;
  if (flags.folder.empty()) {
    info = MLC_TRY(db::WriteSnapshot(flags.log.file, path));
  } else {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const db::PublishedSnapshot published = MLC_TRY(
        db::PublishSnapshot(flags.log.file, flags.folder, flags.policy,
                            std::chrono::duration_cast<std::chrono::microseconds>(now).count()));
    path = published.path;
    info = published.info;
  }
  return flags.log.json ? SnapshotJson(path, info) : SnapshotText(path, info);
}

int Print(const Result<std::string>& text) {
  if (text.ok()) {
    std::cout << *text << std::flush;
    return 0;
  }
  std::cerr << "mlc-log: " << text.status().message() << std::endl;
  return static_cast<int>(ExitCodeOf(text.status()));
}

int Report(const Flags& flags) {
  if (flags.other.empty() || flags.other == "-") {
    return Print(report::ReportText(flags.log.file, flags.job));
  }
  const Status status = report::WriteReport(flags.log.file, flags.job, flags.other);
  return status.ok() ? 0 : Print(status);
}

int Verify(const Flags& flags) {
  bool sound = false;
  const int code = Print(VerifyCommand(flags.log, sound));
  return code == 0 && !sound ? static_cast<int>(ExitCode::kStorage) : code;
}

constexpr char kFooter[] =
    "Examples\n"
    "  mlc-log stats tuning.db\n"
    "  mlc-log best tuning.db --model resnet50.onnx\n"
    "  mlc-log report tuning.db -o report.html\n"
    "  mlc-log merge tuning.db other.db";

// --help lists groups in the order in which they are added.
constexpr char kReading[] = "To look into a log";
constexpr char kMoving[] = "To move records";

// A subcommand: its group, its name and its help. The examples are what follows its name.
CLI::App* Begin(CLI::App& app, Flags& flags, const char* group, const char* name, const char* help,
                const char* example) {
  CLI::App* command = app.add_subcommand(name, help)->group(group);
  command->footer("Examples\n  mlc-log " + std::string(name) + " tuning.db" + example);
  command->get_help_ptr()->group("Common");
  command->option_defaults()->group("Common");
  command->add_option("FILE", flags.log.file, "tuning log")->required()->group("Positionals");
  return command;
}

CLI::App* Add(CLI::App& app, Flags& flags, const char* group, const char* name, const char* help,
              const char* example = "") {
  CLI::App* command = Begin(app, flags, group, name, help, example);
  command->add_flag("--json", flags.log.json, "print JSON");
  return command;
}

// What a command is about: a workload, or the tasks of a model.
void AddWorkloads(CLI::App& command, Flags& flags) {
  command.add_option("WORKLOAD", flags.what, "a digest, or a file with the workload's text");
  command.add_option("--model", flags.model, "all tasks of an ONNX file");
  command.add_option(
      "--dim", flags.dims,
      "NAME=N: size of a symbolic dimension of the model, or several, as mlc-tune takes");
  command.add_option("--constant", flags.constants,
                     "NAME=VALUES: an input of the model with these values, as mlc-tune takes");
  command.add_option("--precision", flags.precision, "the precision that the model was tuned with")
      ->capture_default_str();
  AddToleranceFlag(
      command, flags.tolerance,
      "the tolerance that the model was tuned with; default: what the precision needs");
  command.add_option("--target", flags.log.target,
                     "class text; every target if not given. With --model as mlc-tune takes it");
}

void CheckWorkloads(const Flags& flags) {
  if (flags.model.empty() == flags.what.empty()) {
    throw CLI::RequiredError("either WORKLOAD or --model");
  }
}

void AddReading(CLI::App& app, Flags& flags, int& code) {
  CLI::App* best =
      Add(app, flags, kReading, "best", "the fastest known configs of a workload or model",
          " --model resnet50.onnx");
  AddWorkloads(*best, flags);
  best->add_option("-n", flags.log.limit, "how many per workload")->check(CLI::Range(1, 1000000));
  best->callback([&] {
    CheckWorkloads(flags);
    code = Print(Ask(flags, BestCommand));
  });
  CLI::App* coverage =
      Add(app, flags, kReading, "coverage",
          "how much of its space was measured of a workload or model", " --model resnet50.onnx");
  AddWorkloads(*coverage, flags);
  coverage->callback([&] {
    CheckWorkloads(flags);
    code = Print(Ask(flags, CoverageCommand));
  });
  CLI::App* list = Add(app, flags, kReading, "list", "workloads, or the records of one");
  list->add_option("WORKLOAD", flags.what, "a digest, or a file with the workload's text");
  list->add_option("--target", flags.log.target, "class text");
  list->callback([&] {
    flags.log.limit = 1'000'000'000;
    code = Print(ListCommand(flags.log, flags.what));
  });
  CLI::App* show = Add(app, flags, kReading, "show", "everything about one record", " 42");
  show->add_option("RECORD", flags.what, "its number or task_uid")->required();
  show->callback([&] { code = Print(ShowCommand(flags.log, flags.what)); });
  CLI::App* explain =
      Add(app, flags, kReading, "explain", "why a config is fast or slow, in words", " 42");
  explain->add_option("WHAT", flags.what, "a record, or a workload for its best")->required();
  explain->add_option("--target", flags.log.target, "class text");
  explain->callback([&] { code = Print(ExplainCommand(flags.log, flags.what)); });
  CLI::App* untuned =
      Add(app, flags, kReading, "untuned", "tasks that builds wanted and the log has no record of");
  untuned->add_option("--target", flags.log.target, "class text; every target if not given");
  untuned->callback([&] { code = Print(UntunedCommand(flags.log)); });
  CLI::App* stats =
      Add(app, flags, kReading, "stats", "number of workloads, records, models and jobs");
  stats->callback([&] { code = Print(StatsCommand(flags.log)); });
  CLI::App* verify = Add(app, flags, kReading, "verify", "check the file and every record in it");
  verify->callback([&] { code = Verify(flags); });
}

// Of user-supplied kernels with tunable parameters.
void AddTunedKernels(CLI::App& app, Flags& flags, int& code) {
  using Command = Result<std::string> (*)(const LogOptions&, const std::string&);
  const auto add = [&](const char* name, const char* help, Command make) {
    CLI::App* command = Begin(app, flags, kReading, name, help, " convolution");
    command->add_option("KERNEL", flags.what, "KernelName of the specification")->required();
    command->add_option("--target", flags.log.target, "class text; every target if not given");
    command->callback([&flags, &code, make] { code = Print(make(flags.log, flags.what)); });
  };
  add("header", "a C header with the winners of a kernel that --kernel tuned", HeaderCommand);
  add("results", "the records of a kernel that --kernel tuned, in the T4 format (JSON)",
      ResultsCommand);
}

void AddReport(CLI::App& app, Flags& flags, int& code) {
  CLI::App* report =
      Begin(app, flags, kReading, "report", "one HTML file about a job", " -o report.html");
  CLI::Option* job = report->add_option(
      "--job", flags.job.job, "its id, or the first digits; default: the newest of the log");
  report
      ->add_option("--model", flags.job.model,
                   "the newest job of this model, by the name that stats shows")
      ->excludes(job);
  report->add_option("-o,--output", flags.other, "file to write; standard output if not given");
  report->callback([&] { code = Report(flags); });
}

void AddMoving(CLI::App& app, Flags& flags, int& code) {
  CLI::App* out = Add(app, flags, kMoving, "export", "write workloads and records as JSON lines",
                      " records.jsonl");
  out->add_option("TO", flags.other, "file; standard output if not given");
  out->callback([&] {
    const Status status = ExportTo(flags);
    code = status.ok() ? 0 : Print(status);
  });
  CLI::App* in = Add(app, flags, kMoving, "import", "add workloads and records from JSON lines",
                     " records.jsonl");
  in->add_option("FROM", flags.other, "file")->required();
  in->callback([&] { code = Print(ImportFrom(flags)); });
  CLI::App* merge = Add(app, flags, kMoving, "merge", "add what another log holds", " other.db");
  merge->add_option("FROM", flags.others, "the other logs, one after another")->required();
  merge
      ->add_option("--trust", flags.trust,
                   "whose records are taken: all, or those of devices on which the other log's "
                   "times agree with this one's")
      ->check(CLI::IsMember({"all", "agreeing"}))
      ->capture_default_str();
  merge->callback([&] {
    code = Print(MergeCommand(flags.log, flags.others,
                              flags.trust == "all" ? db::Trust::kAll : db::Trust::kAgreeing));
  });
  CLI::App* snapshot = Add(app, flags, kMoving, "snapshot",
                           "write a closed copy for builds to read", " --into /srv/snapshots");
  snapshot->add_option("TO", flags.other, "file");
  snapshot->add_option("--into", flags.folder,
                       "folder: a new file there, with latest.db as a link to it");
  snapshot->add_option("--keep", flags.policy.newest, "with --into: so many of the newest stay")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  snapshot
      ->add_option("--days", flags.policy.days,
                   "also keep the last snapshot of each of this many days")
      ->check(CLI::Range(0, 100'000))
      ->capture_default_str();
  snapshot->callback([&] {
    if (flags.folder.empty() == flags.other.empty())
      throw CLI::RequiredError("either TO or --into");
    code = Print(SnapshotTo(flags));
  });
}

int Main(int argc, char** argv) {
  Flags flags;
  int code = 0;
  CLI::App app("mlc-log: looks into a tuning log and moves records between logs", "mlc-log");
  app.footer(kFooter);
  app.get_help_ptr()->group("Common");
  app.set_version_flag("--version", VersionText("mlc-log"))->group("Common");
  app.require_subcommand(1);
  AddReading(app, flags, code);
  AddTunedKernels(app, flags, code);
  AddReport(app, flags, code);
  AddMoving(app, flags, code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return transport::EndParsing(app, error);
  }
  return code;
}

}  // namespace
}  // namespace mlc::client

int main(int argc, char** argv) {
  mlc::transport::OpenStandardFiles();
  return mlc::transport::EndProgram("mlc-log", mlc::client::Main(argc, argv));
}
