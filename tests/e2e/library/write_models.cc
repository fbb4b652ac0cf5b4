// Writes the libraries that library_test.c is linked with, and the outputs it expects:
//   DIR/{first,second}    a perceptron and a convolutional model, weights embedded
//   DIR/beside            the perceptron with its weights in a file
//   DIR/sized             a model with two dimensions, several sizes each
//   DIR/cache             a cache that a row is written to
//   DIR/expected.h        outputs by the reference evaluator
#include <cstdio>
#include <fstream>
#include <string>
#include <utility>

#include "compiler/front/front.h"
#include "compiler/graph/evaluate/evaluate.h"
#include "compiler/graph/tensor_io.h"
#include "compiler/package/library.h"
#include "compiler/package/plans.h"
#include "compiler/schedule/space/family.h"
#include "tests/e2e/library/small_models.h"

namespace mlc::testing {
namespace {

Result<std::vector<package::Choice>> ChoicesFor(const graph::Program& program,
                                                const target::Target& target) {
  std::vector<package::Choice> choices;
  for (const graph::Task& task : program.tasks) {
    const auto families = schedule::FamiliesFor(task.workload, target);
    if (families.empty()) return Internal("no family for " + task.workload.Summary());
    choices.push_back({families[0]->Default(task.workload, target), package::FromDefault(), 0, {}});
  }
  return choices;
}

package::LibraryOptions OptionsFor(const std::string& directory, const std::string& name,
                                   bool embed) {
  package::LibraryOptions options;
  options.directory = directory + "/" + name;
  options.name = name;
  options.embed_weights = embed;
  options.parallel = 2;
  return options;
}

Status WriteModel(const std::string& directory, const std::string& name, const graph::Graph& graph,
                  bool embed) {
  const graph::Program program = MLC_TRY(front::BuildProgram(graph, {}));
  const target::Target target = target::DetectHost(2);
  return package::WriteLibrary(program, MLC_TRY(ChoicesFor(program, target)), target,
                               OptionsFor(directory, name, embed))
      .status();
}

constexpr int64_t kBatches[] = {1, 3, 4};
constexpr int64_t kLengths[] = {2, 5};

Status WriteSized(const std::string& directory) {
  const target::Target target = target::DetectHost(2);
  package::PlanMerger merger({"batch", "length"});
  for (const int64_t batch : kBatches) {
    for (const int64_t length : kLengths) {
      graph::Program program = MLC_TRY(front::BuildProgram(Sized(batch, length), {}));
      const std::vector<package::Choice> choices = MLC_TRY(ChoicesFor(program, target));
      MLC_TRY(merger.Add({batch, length}, std::move(program), choices));
    }
  }
  return package::WriteLibrary(MLC_TRY(merger.Take()), target,
                               OptionsFor(directory, "sized", /*embed=*/true))
      .status();
}

Status WriteExpected(const std::string& name, const graph::Graph& graph, std::ofstream& out) {
  std::vector<graph::TensorDataRef> inputs;
  for (size_t i = 0; i < graph.Inputs().size(); ++i) {
    inputs.push_back(InputTensor(graph, static_cast<int>(i)));
  }
  const std::vector<graph::TensorDataRef> outputs = MLC_TRY(graph::Evaluate(graph, inputs));
  for (size_t i = 0; i < outputs.size(); ++i) {
    out << "static const float k" << name << i << "[] = {";
    for (const double value : graph::ReadDoubles(*outputs[i])) {
      char text[32];
      std::snprintf(text, sizeof(text), "%.9ef, ", value);
      out << text;
    }
    out << "};\n";
  }
  return {};
}

Status WriteAll(const std::string& directory) {
  MLC_TRY(WriteModel(directory, "first", Perceptron(), true));
  MLC_TRY(WriteModel(directory, "second", Convolutional(), true));
  MLC_TRY(WriteModel(directory, "beside", Perceptron(), false));
  MLC_TRY(WriteSized(directory));
  MLC_TRY(WriteModel(directory, "cache", Cache(6), true));
  std::ofstream out(directory + "/expected.h");
  MLC_TRY(WriteExpected("Perceptron", Perceptron(), out));
  MLC_TRY(WriteExpected("Convolutional", Convolutional(), out));
  for (const int64_t batch : kBatches) {
    for (const int64_t length : kLengths) {
      const std::string name = "Sized" + std::to_string(batch) + "x" + std::to_string(length) + "_";
      MLC_TRY(WriteExpected(name, Sized(batch, length), out));
    }
  }
  out.close();
  return out ? Status() : Internal("cannot write expected.h");
}

}  // namespace
}  // namespace mlc::testing

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const mlc::Status status = mlc::testing::WriteAll(argv[1]);
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", status.message().c_str());
  return 1;
}
