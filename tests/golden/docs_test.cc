// The dumps in the documents are what the compiler prints: a line "<!-- dump NAME -->" is followed
// by a code block, which this test produces again.
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <sstream>

#include "compiler/codegen/llvm.h"
#include "compiler/front/front.h"
#include "compiler/graph/onnx/operator_list.h"
#include "compiler/graph/physical/program_text.h"
#include "compiler/ir/grammar.h"
#include "compiler/package/lock_file.h"
#include "db/json_lines.h"
#include "tests/golden/golden.h"
#include "tests/golden/models.h"
#include "tests/golden/workloads.h"
#include "tests/unit/graph/onnx/imported.h"

namespace mlc::golden {
namespace {

using Dumps = std::map<std::string, std::string>;

template <typename T>
T ValueOf(Result<T> result) {
  if (!result.ok()) {
    ADD_FAILURE() << result.status().message();
    return T();
  }
  return *std::move(result);
}

// Lines from the first one that holds `from`, at most `count`; "..." stands for what is left out.
std::string Excerpt(const std::string& text, std::string_view from, int count) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  if (at == std::string::npos) return text;
  const size_t start = text.rfind('\n', at) + 1;
  size_t end = start;
  for (int i = 0; i < count && end < text.size(); ++i) end = text.find('\n', end) + 1;
  return (start > 0 ? "...\n" : "") + text.substr(start, end - start) +
         (end < text.size() ? "...\n" : "");
}

// The lines of the loop that holds most multiply-adds, from its label to the jump back.
std::string InnerLoop(const std::string& assembly) {
  std::vector<std::string> block, best;
  size_t best_count = 0, count = 0;
  std::istringstream lines(assembly);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind(".LBB", 0) == 0) block.clear(), count = 0;
    block.push_back(line);
    count += line.find("vfmadd") != std::string::npos ? 1 : 0;
    if (line.find("\tj") == 0 && count > best_count) best = block, best_count = count;
  }
  std::string text;
  constexpr size_t kShown = 24;
  for (size_t i = 0; i < best.size(); ++i) {
    if (best.size() > kShown && i == kShown - 4) text += "\t...\n";
    if (best.size() > kShown && i >= kShown - 4 && i + 4 < best.size()) continue;
    text += best[i] + "\n";
  }
  return text;
}

std::string SpaceText(const graph::Workload& workload, const target::Target& target) {
  std::string text;
  for (const schedule::Family* family : schedule::FamiliesFor(workload, target)) {
    const schedule::Space space = family->MakeSpace(workload, target);
    text += std::string(family->name()) + "/" + std::to_string(family->version()) + ": " +
            std::to_string(space.NumPoints()) + " points\n";
    for (const schedule::Knob& knob : space.knobs) {
      text += "  " + knob.name + " in";
      for (const int64_t value : knob.domain) text += " " + std::to_string(value);
      text += "\n";
    }
    text += "  default: " + family->Default(workload, target).ToText() + "\n";
  }
  return text;
}

// A trial with example figures.
db::Record RecordOf(const graph::Workload& workload, const target::Target& target,
                    const schedule::Config& config) {
  db::Record record;
  record.workload = workload.digest();
  record.target = target.ClassText();
  record.config = config.ToText();
  record.task_uid = DigestOf(record.workload.ToText() + record.target + record.config);
  record.measurement.outcome = Outcome::kOk;
  record.measurement.median_ns = 371500;
  record.measurement.p10_ns = 369800;
  record.measurement.p90_ns = 379100;
  record.measurement.runs = 41;
  record.measurement.max_error = 2.1e-7;
  record.measurement.build_ms = 18.5;
  record.toolchain = "mlc-tune 0.1.0 llvm-19.1";
  record.worker = "cpu0";
  record.arm = "seed";
  record.seed = 1;
  record.created_us = 1767225600000000;
  return record;
}

const graph::Workload& ConvolutionOf(const graph::Program& program) {
  for (const graph::Task& task : program.tasks) {
    if (task.workload.Summary().rfind("conv", 0) == 0) return task.workload;
  }
  ADD_FAILURE() << "no task is a convolution";
  return program.tasks.front().workload;
}

Dumps MakeDumps() {
  Dumps dumps;
  const graph::Graph imported = ValueOf(graph::onnx::ImportBytes(OneConvolution()));
  dumps["imported"] = imported.ToText();
  dumps["simplified"] = ValueOf(front::SimplifyGraph(imported, {})).ToText();
  const graph::Program program = ValueOf(front::BuildProgram(imported, {}));
  dumps["program"] = graph::TaskTable(program) + graph::ToText(program);
  const graph::Workload& workload = ConvolutionOf(program);
  dumps["workload"] = workload.ToText() + "# digest " + workload.digest().ToText() + "\n";
  const target::Target target = Avx512();
  dumps["target"] = target.ToText();
  dumps["space"] = SpaceText(workload, target);
  const schedule::Config config = schedule::FindFamily("contraction")->Default(workload, target);
  dumps["config"] = config.ToText();
  const schedule::LoweredKernel lowered = ValueOf(schedule::LowerConfig(workload, target, config));
  dumps["ir"] = Excerpt(lowered.kernel.ToText(), "unrolled for", 40);
  dumps["llvm"] =
      Excerpt(ValueOf(codegen::PrintLlvm(lowered.kernel, target)), "@llvm.fma.v16f32", 12);
  dumps["asm"] = InnerLoop(ValueOf(codegen::PrintAssembly(lowered.kernel, target)));
  const db::Record record = RecordOf(workload, target, config);
  dumps["record"] = db::ToJsonLine(record);
  package::LockFile lock;
  lock.target_class = target.ClassText();
  lock.choices[workload.digest()] = {
      config, package::FromRecord{db::DigestOf(record).ToText()}, record.measurement.median_ns, {}};
  dumps["lock"] = lock.ToText();
  dumps["statements"] = ir::StatementGrammar();
  dumps["kernel"] = LoweredBy("row_reduce",
                              Parsed("%0 = input() : f32[4,24]\n%1 = softmax(%0) {axis=1} : "
                                     "f32[4,24]\nreturn %1\n"),
                              target)
                        .kernel.ToText();
  return dumps;
}

// The document with every dump in its place.
std::string Filled(const std::string& document, const Dumps& dumps) {
  std::istringstream lines(document);
  std::string text;
  bool in_old_dump = false, after_marker = false;
  for (std::string line; std::getline(lines, line);) {
    if (in_old_dump) {
      in_old_dump = line != "```";
      continue;
    }
    if (after_marker && line == "```") {
      in_old_dump = true;
      continue;
    }
    after_marker = false;
    text += line + "\n";
    std::smatch match;
    if (!std::regex_match(line, match, std::regex("<!-- dump (.*) -->"))) continue;
    const auto dump = dumps.find(match[1]);
    if (dump == dumps.end()) {
      ADD_FAILURE() << "nothing is called '" << match[1] << "'";
      continue;
    }
    text += "```\n" + dump->second + (dump->second.ends_with('\n') ? "" : "\n") + "```\n";
    after_marker = true;
  }
  return text;
}

TEST(Docs, ShowWhatTheCompilerPrints) {
  const Dumps dumps = MakeDumps();
  for (const char* path : {"docs/explanation/one-convolution.md", "docs/reference/text-forms.md"}) {
    const std::string document = Read(path);
    ASSERT_FALSE(document.empty()) << path;
    Check(path, Filled(document, dumps),
          "The document quotes the compiler; accept what it prints now.");
  }
}

TEST(Docs, ListTheOperatorsThatTheImporterTakes) {
  Check("docs/reference/operators.md", graph::onnx::OperatorList(),
        "The page is made from the operator tables; accept it when an operator has changed.");
}

// Files that the documents name in `code` or as links.
TEST(Docs, NameFilesThatExist) {
  const std::regex name("[`(]([a-z_A-Z]+(?:/[a-z_A-Z0-9.-]+)+/?)[`)]");
  for (const char* path : {"README.md", "CONTRIBUTING.md", "docs/explanation/design.md",
                           "docs/benchmarks/cpu.md", "docs/explanation/timing.md",
                           "docs/explanation/one-convolution.md", "docs/reference/text-forms.md"}) {
    const std::string text = Read(path);
    ASSERT_FALSE(text.empty()) << path;
    for (std::sregex_iterator it(text.begin(), text.end(), name), end; it != end; ++it) {
      const std::string file = (*it)[1];
      if (file.rfind("build/", 0) == 0) continue;
      EXPECT_TRUE(std::filesystem::exists(std::string(MLC_SOURCE_DIR) + "/" + file))
          << path << " names " << file;
    }
  }
}

}  // namespace
}  // namespace mlc::golden
