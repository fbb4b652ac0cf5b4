#include "client/tune/tune_local.h"

#include <iostream>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "base/html/write_page.h"
#include "base/machine/memory.h"
#include "client/local/embedded_server.h"
#include "client/model/dims.h"
#include "client/service/tuner_client.h"
#include "client/target/auto_target.h"
#include "client/target/target_choice.h"
#include "client/tune/local_memory.h"
#include "client/tune/said_target.h"
#include "client/tune/tune_end.h"
#include "client/tune/whole_model_stage.h"
#include "compiler/backend/backend.h"
#include "db/report/write_report.h"
#include "db/sqlite/sqlite_log.h"
#include "server/search/portfolio_strategy.h"

namespace mlc::client {
namespace {

// How long an interrupted run waits for the trials under way.
constexpr int64_t kGraceMs = 10'000;

// The name of the backend that "cuda" and "cuda:N" mean.
constexpr char kGpuDevice[] = "cuda";

constexpr char kWithoutGpu[] =
    "tune with --server ADDRESS, which has such workers, or for this CPU with --target cpu";

// The embedded worker is this machine.
Status CheckLocal(const TuneOptions& options, const target::Target& asked) {
  if (IsLocalTarget(options.target)) return Status();
  const target::Target here = MLC_TRY(
      ChooseTarget(std::string(backend::BackendOf(asked).name), ThreadsOf(options), kWithoutGpu));
  if (asked.ClassText() == here.ClassText()) return Status();
  return InvalidArgument("this machine is not the --target: it is '" + here.ClassText() +
                         "'; give --server with workers of that target");
}

Result<std::unique_ptr<EmbeddedServer>> BeginWorker(const TuneOptions& options,
                                                    std::string_view device) {
  return EmbeddedServer::Begin({options.log, options.worker, ThreadsOf(options),
                                std::string(device), options.cuda_home, options.cubin_cache,
                                options.page, options.verbose, options.is_raw(),
                                server::MakePortfolioStrategy});
}

// A report that cannot be made is an error of its own only where the run has none.
Result<ExitCode> Reported(const TuneOptions& options, const std::string& job, ExitCode code) {
  if (options.report.empty()) return code;
  const Status written = report::WriteReport(options.log, {job, ""}, options.report);
  if (written.ok()) {
    std::cerr << "Report: " << options.report << std::endl;
    return code;
  }
  if (code == ExitCode::kOk) return written;
  std::cerr << "no report: " << written.message() << std::endl;
  return code;
}

// Why no config of a kernel was correct, in the words of the newest trial.
void SayLastFailure(const TuneOptions& options, const std::string& job) {
  const auto log = db::OpenSqliteLogForReading(options.log);
  const Result<Digest> id = Digest::Parse(job);
  if (!log.ok() || !id.ok()) return;
  db::RecordQuery query;
  query.job_id = *id;
  query.newest = true;
  query.limit = 1;
  const auto records = (*log)->List(query);
  if (!records.ok() || records->empty()) return;
  const Measurement& last = records->front().measurement;
  std::cerr << "mlc-tune: no values of the parameters gave a correct kernel; the last trial: "
            << ToText(last.outcome) << ": " << last.detail << std::endl;
}

}  // namespace

Result<target::Target> LocalTargetOf(TuneOptions& options) {
  if (options.target != kAutoTarget) {
    return ChooseTarget(options.target, ThreadsOf(options), kWithoutGpu);
  }
  const AutoTarget chosen =
      ChooseForMachine(LookAtMachine(ThreadsOf(options), options.cuda_home), Work::kTune);
  SayTarget(options, chosen);
  options.target = chosen.text;
  return chosen.target;
}

Result<ExitCode> TuneLocal(const TuneSession& session) {
  TuneOptions options = session.options;
  if (!options.report.empty()) MLC_TRY(html::CheckPageWritable(options.report));
  MLC_TRY(SetKernelTarget(options));
  std::unique_ptr<EmbeddedServer> embedded;
  // GPUs take long to start: their worker begins before the driver is asked. A CPU measures its
  // peaks first, which nothing may disturb; and while a model is read, a worker would only wait.
  if (options.is_raw() && OrdinalOf(options.target)) {
    embedded = MLC_TRY(BeginWorker(options, kGpuDevice));
  }
  const target::Target target = MLC_TRY(LocalTargetOf(options));
  const TuneRequest tune = MLC_TRY(TuneRequestOf(options, target));
  MLC_TRY(CheckLocal(options, target));
  if (target.As<target::CpuTarget>() != nullptr) {
    MLC_TRY(CheckMemory(tune.model, target::UsableMemory()));
  }
  const backend::Backend& backend = backend::BackendOf(target);
  if (const auto* cpu = target.As<target::CpuTarget>()) SayPlaces(options, cpu->threads);
  const std::stop_token stop = session.interrupt.Keep();
  if (embedded == nullptr) embedded = MLC_TRY(BeginWorker(options, backend.name));
  MLC_TRY(embedded->Serve());
  if (!options.page.empty()) std::cerr << "page: " << embedded->page_url() << "\n";
  TunerClient client = MLC_TRY(TunerClient::Connect({embedded->address(), {}, {}, {}}));
  const proto::SubmitJobReply job = MLC_TRY(Submit(client, tune));
  if (options.resume && !job.resumed()) std::cerr << "nothing to resume: starting anew\n";
  ProgressOutput output(session.progress, tune.model);
  const Result<proto::JobProgress> ended = [&] {
    const std::stop_callback cancel(stop, [&] { (void)client.Cancel(job.job()); });
    return client.Watch(job.job(), [&](const proto::JobProgress& progress) {
      MLC_TRY(output.Show(progress));
      return embedded->KeepWorker(progress.trials());
    });
  }();
  embedded->Stop(kGraceMs);
  if (!ended.ok()) return ended.status();
  if (ended->state() != proto::FAILED) output.Finish(*ended);
  std::optional<WholeModelResult> whole;
  // Of several sizes there is no one whole model whose time could decide.
  const bool has_one_size = !MLC_TRY(ParseDimSizes(options.dims)).varies();
  if (backend.times_whole_models && !options.is_raw() && has_one_size) {
    whole = TryRunnersUp(options, job.job(), *ended, stop);
  }
  const ExitCode code = MLC_TRY(Ended(options, job.job(), tune.model, *ended, whole));
  if (code == ExitCode::kNoResult && options.is_raw()) SayLastFailure(options, job.job());
  return Reported(options, job.job(), code);
}

}  // namespace mlc::client
