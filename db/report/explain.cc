#include "db/report/explain.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <type_traits>
#include <variant>

#include "base/fields.h"
#include "base/format.h"
#include "compiler/schedule/cuda/user_kernel/user_kernel.h"
#include "compiler/schedule/space/family.h"

namespace mlc::report {
namespace {

std::string BytesText(double bytes) {
  if (bytes < 1024) return Format("%.0f B", bytes);
  if (bytes < 1024 * 1024) return Format("%.1f KiB", bytes / 1024);
  return Format("%.1f MiB", bytes / (1024 * 1024));
}

bool IsNarrow(const graph::Workload& workload) {
  return std::ranges::any_of(workload.operands(), [&](graph::ValueId id) {
    return SizeOf(workload.graph()[id].type.dtype) < 4;
  });
}

// The arithmetic at the peak figures of the target; 0 if they are unknown. Operands of four bytes
// pass matrix units at half the rate, as tf32.
double PeakNs(const schedule::KernelFacts& facts, const target::Target& target, bool narrow) {
  if (target.fma_gflops <= 0) return 0;
  const double vector_ns = (facts.flops - facts.tensor_flops) / target.fma_gflops;
  if (facts.tensor_flops <= 0) return vector_ns;
  const auto* gpu = target.As<target::GpuTarget>();
  const double tensor = gpu != nullptr ? gpu->tensor_gflops / (narrow ? 1 : 2) : 0;
  return tensor > 0 ? vector_ns + facts.tensor_flops / tensor : 0;
}

std::string Arithmetic(const schedule::KernelFacts& facts, double peak_ns, double ns) {
  std::string text = Format("arithmetic: %.3g Mflop executed", facts.flops / 1e6);
  if (facts.useful_flops > 0 && facts.flops > 0) {
    text += Format(", %.0f%% of them useful", 100 * facts.useful_flops / facts.flops);
  }
  if (ns > 0) text += Format("; %.1f Gflop/s", facts.flops / ns);
  if (ns > 0 && peak_ns > 0) text += Format(" = %.0f%% of the measured peak", 100 * peak_ns / ns);
  return text + '\n';
}

// How one cache level is used: does the block fit, and how much flows into the level above.
std::string Level(const char* name, double set_bytes, int64_t cache_bytes, double moved) {
  if (set_bytes <= 0 && moved <= 0) return std::string();
  std::string text = std::string(name) + ": ";
  if (set_bytes > 0) {
    const double share = set_bytes / static_cast<double>(std::max<int64_t>(cache_bytes, 1));
    text += "its block of " + BytesText(set_bytes) + Format(" fills %.0f%% of it", 100 * share);
    if (share > 1) text += ", too large to stay";
    text += "; ";
  }
  return text + BytesText(moved) + " flow from it per execution\n";
}

std::string Registers(const schedule::KernelFacts& facts, const target::CpuTarget& /*cpu*/) {
  if (facts.accumulators <= 0) return std::string();
  return Format("registers: %.0f independent sums in the inner loop, %.2f loads per FMA, ",
                facts.accumulators, facts.loads_per_fma) +
         Format("%.0f%% of the vector lanes filled\n", 100 * facts.lane_fill);
}

std::string Registers(const schedule::KernelFacts& facts, const target::GpuTarget& /*gpu*/) {
  return Format("registers: about %.0f of a thread, %.1f warps of a multiprocessor at once\n",
                facts.registers, facts.warp_parallelism);
}

std::string Caches(const schedule::KernelFacts& facts, const target::CpuTarget& cpu) {
  return Level("L1", facts.l1_set_bytes, cpu.l1_bytes, facts.l1_bytes) +
         Level("L2", facts.l2_set_bytes, cpu.l2_bytes, facts.l2_bytes) +
         Level("L3", 0, cpu.l3_bytes, facts.l3_bytes);
}

std::string Caches(const schedule::KernelFacts& facts, const target::GpuTarget& gpu) {
  return Level("shared memory", facts.block_bytes, gpu.block_bytes, facts.l1_bytes) +
         Level("L2", 0, gpu.l2_bytes, facts.l2_bytes);
}

std::string Memory(const schedule::KernelFacts& facts, const target::Target& target, double ns) {
  std::string text = "memory: " + BytesText(facts.dram_bytes) + " when nothing is cached";
  if (ns > 0) text += Format(" = %.1f GB/s at this time", facts.dram_bytes / ns);
  if (target.copy_gbps > 0) text += Format(" (copying reaches %.1f)", target.copy_gbps);
  return text + "\n";
}

std::string Parallelism(const schedule::KernelFacts& facts, const target::CpuTarget& cpu) {
  return Format(
      "threads: %.0f chunks for %d threads in %.0f rounds; the longest thread has %.2f of "
      "the mean\n",
      facts.parallel_chunks, cpu.threads, facts.phases, facts.imbalance);
}

std::string Parallelism(const schedule::KernelFacts& facts, const target::GpuTarget& gpu) {
  return Format("blocks: %.0f of %.0f threads for %d multiprocessors, ", facts.blocks,
                facts.block_threads, gpu.sms) +
         Format("%.2f times what they hold at once\n", facts.waves);
}

double LastCache(const target::CpuTarget& cpu) { return static_cast<double>(cpu.l3_bytes); }
double LastCache(const target::GpuTarget& gpu) { return static_cast<double>(gpu.l2_bytes); }

// What a kernel that is far from the peak figures suffers from; empty if nothing stands out.
std::string Fault(const schedule::KernelFacts& facts, const target::CpuTarget& cpu) {
  if (facts.imbalance > 1.2) return "it loses time to uneven threads\n";
  if (facts.lane_fill < 0.8) return "it loses time to partly filled vectors\n";
  if (facts.l1_set_bytes > static_cast<double>(cpu.l1_bytes)) {
    return "it loses time because its inner block does not fit L1\n";
  }
  if (facts.l2_set_bytes > static_cast<double>(cpu.l2_bytes)) {
    return "it loses time because its block does not fit L2\n";
  }
  return std::string();
}

std::string Fault(const schedule::KernelFacts& facts, const target::GpuTarget& gpu) {
  if (facts.blocks < 0.8 * gpu.sms) {
    return "it loses time because its blocks leave multiprocessors idle\n";
  }
  const double rounds = std::ceil(facts.waves);
  if (facts.waves > 1 && rounds > 1.2 * facts.waves) {
    return "it loses time because few blocks remain for the last round\n";
  }
  return std::string();
}

// The one sentence that matters most.
std::string Bottleneck(const schedule::KernelFacts& facts, const target::Target& target,
                       double peak_ns, double ns) {
  if (ns <= 0 || peak_ns <= 0) return std::string();
  const double last_cache =
      std::visit([](const auto& kind) { return LastCache(kind); }, target.device);
  const bool streams = facts.dram_bytes > last_cache;
  const double memory_ns =
      target.copy_gbps > 0 && streams ? facts.dram_bytes / target.copy_gbps : 0;
  if (std::max(peak_ns, memory_ns) > 0.8 * ns) {
    return memory_ns > peak_ns ? "it runs at the memory's speed: only moving less helps\n"
                               : "it runs near the peak: only fewer operations help\n";
  }
  const std::string fault =
      std::visit([&](const auto& kind) { return Fault(facts, kind); }, target.device);
  return !fault.empty() ? fault
                        : "it is bound by latency, by the caches or by its epilogue, not by peak "
                          "figures\n";
}

// Where the time goes, line by line.
std::string ExplainKernel(const schedule::KernelFacts& facts, const target::Target& target,
                          double peak_ns, double ns) {
  const auto of_kind = [&](const auto& kind) {
    return Registers(facts, kind) + Caches(facts, kind) + Memory(facts, target, ns) +
           Parallelism(facts, kind);
  };
  return Arithmetic(facts, peak_ns, ns) + std::visit(of_kind, target.device);
}

// "figures: build 18.5 ms, clock 3100 MHz\n"; empty if nothing was recorded.
std::string Figures(const Measurement& m) {
  std::string text;
  VisitFields(m, [&](const FieldInfo& field, const auto& value) {
    if constexpr (std::is_arithmetic_v<std::decay_t<decltype(value)>>) {
      if (!field.listed || value == 0) return;
      text += (text.empty() ? "figures: " : ", ") + std::string(field.label) +
              Format(" %.4g", static_cast<double>(value));
      if (!field.unit.empty()) text += " " + std::string(field.unit);
    }
  });
  return text.empty() ? text : text + "\n";
}

std::string Provenance(const db::Record& record) {
  const Measurement& m = record.measurement;
  std::string text = "outcome: " + std::string(ToText(m.outcome));
  if (m.outcome == Outcome::kOk) {
    text += Format(", median %.0f ns of %d runs (p10 %.0f, p90 %.0f)", m.median_ns, m.runs,
                   m.p10_ns, m.p90_ns);
    if (m.cold_ns > 0) text += Format(", cold %.0f ns", m.cold_ns);
    text += Format(", largest error %.2g", m.max_error);
  } else if (!m.detail.empty()) {
    text += ": " + m.detail.substr(0, 400);
  }
  text += "\n" + Figures(m) + "search: tried as '" + record.arm + "'";
  if (record.predicted_rank > 0) {
    text += ", ranked " + std::to_string(record.predicted_rank) + " by the cost model";
  }
  return text + "\n";
}

// What a person wrote, a person has to explain.
Result<std::string> ExplainUserKernel(const graph::Workload& workload,
                                      const schedule::Config& config, const db::Record& record) {
  const schedule::UserKernel user_kernel = MLC_TRY(schedule::UserKernel::FromConfig(config));
  return workload.Summary() + "\n" + schedule::BriefConfig(record.config) + "\n" +
         Provenance(record) + "user-supplied kernel:\n" + user_kernel.source +
         (user_kernel.source.ends_with('\n') ? "" : "\n");
}

}  // namespace

bool CanGenerate(const db::Record& record) {
  const Result<db::FamilyVersion> head = db::FamilyOf(record.config);
  if (!head.ok()) return false;
  if (schedule::IsUserKernel(record.config)) return true;
  const schedule::Family* family = schedule::FindFamily(head->family);
  return family != nullptr && family->version() == head->version;
}

Result<Explanation> ExplainConfig(const graph::Workload& workload, const target::Target& target,
                                  const db::Record& record) {
  const schedule::Config config = MLC_TRY(schedule::Config::Parse(record.config));
  if (schedule::IsUserKernel(config)) {
    return Explanation{MLC_TRY(ExplainUserKernel(workload, config, record)), "", std::nullopt};
  }
  const schedule::Family* family = schedule::FindFamily(config.family);
  if (family == nullptr || family->version() != config.version) {
    return FailedPrecondition("this program does not know " + config.family + "/" +
                              std::to_string(config.version));
  }
  if (!family->Accepts(workload, target)) {
    return InvalidArgument("family " + config.family + " does not accept this workload");
  }
  std::string text = workload.Summary() + "\n" + record.config + "\n" + Provenance(record);
  const std::unique_ptr<const schedule::Problem> problem = family->Open(workload, target);
  if (problem->MakeSpace().RankOf(config) < 0) {
    return Explanation{text + "rejected today: it is not in the family's space\n", "",
                       std::nullopt};
  }
  const schedule::RejectReason reason = problem->Check(config);
  if (reason != schedule::RejectReason::kNone) {
    return Explanation{text + "rejected today: " + std::string(schedule::Explain(reason)) + "\n",
                       "", std::nullopt};
  }
  const double ns = record.measurement.outcome == Outcome::kOk ? record.measurement.median_ns : 0;
  const schedule::KernelFacts facts = problem->Facts(config);
  const double peak_ns = PeakNs(facts, target, IsNarrow(workload));
  text += ExplainKernel(facts, target, peak_ns, ns);
  return Explanation{text, Bottleneck(facts, target, peak_ns, ns), config};
}

Result<std::string> Explain(const graph::Workload& workload, const target::Target& target,
                            const db::Record& record) {
  const Explanation explained = MLC_TRY(ExplainConfig(workload, target, record));
  const std::string text = explained.text + explained.bottleneck;
  return explained.config ? text + ExplainSpace(workload, target, *explained.config) : text;
}

SpaceCounts CountSpace(const graph::Workload& workload, const target::Target& target,
                       const schedule::Family& family, int64_t max_points) {
  const std::unique_ptr<const schedule::Problem> problem = family.Open(workload, target);
  const schedule::Space space = problem->MakeSpace();
  SpaceCounts counts;
  counts.points = space.NumPoints();
  const int64_t step = std::max<int64_t>(1, counts.points / max_points);
  for (int64_t rank = 0; rank < counts.points; rank += step, ++counts.seen) {
    ++counts.by_reason[static_cast<size_t>(problem->Check(space.At(rank)))];
  }
  return counts;
}

std::string ExplainSpace(const graph::Workload& workload, const target::Target& target,
                         const schedule::Config& config, int64_t max_points) {
  const schedule::Family* family = schedule::FindFamily(config.family);
  if (family == nullptr) return std::string();
  const SpaceCounts counted = CountSpace(workload, target, *family, max_points);
  const auto& counts = counted.by_reason;
  std::string text = "space: " + std::to_string(counted.points) + " points";
  if (counted.seen < counted.points) text += ", " + std::to_string(counted.seen) + " looked at";
  text += '\n';
  for (size_t reason = 0; reason < counts.size(); ++reason) {
    if (counts[reason] == 0) continue;
    const auto which = static_cast<schedule::RejectReason>(reason);
    text += Format("  %5.1f%% ", 100.0 * static_cast<double>(counts[reason]) /
                                     static_cast<double>(std::max<int64_t>(counted.seen, 1)));
    text +=
        which == schedule::RejectReason::kNone ? "legal" : std::string(schedule::Explain(which));
    text += '\n';
  }
  return text;
}

}  // namespace mlc::report
