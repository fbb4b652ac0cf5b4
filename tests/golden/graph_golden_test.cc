// A small convolutional network through the front: imported, simplified, cut into tasks.
#include <gtest/gtest.h>

#include "compiler/front/front.h"
#include "compiler/graph/physical/program_text.h"
#include "tests/golden/golden.h"
#include "tests/golden/models.h"
#include "tests/unit/graph/onnx/imported.h"

namespace mlc::golden {
namespace {

class SmallNetwork : public testing::Test {
 protected:
  void SetUp() override {
    Result<graph::Graph> imported = graph::onnx::ImportBytes(ResidualNetwork());
    ASSERT_TRUE(imported.ok()) << imported.status().message();
    imported_ = *std::move(imported);
  }
  graph::Graph imported_;
};

TEST_F(SmallNetwork, IsImported) { Check("tests/golden/graph/imported.txt", imported_.ToText()); }

TEST_F(SmallNetwork, IsSimplified) {
  const Result<graph::Graph> simple = front::SimplifyGraph(imported_, {});
  ASSERT_TRUE(simple.ok()) << simple.status().message();
  Check("tests/golden/graph/simplified.txt", simple->ToText());
}

TEST_F(SmallNetwork, IsCutIntoTasks) {
  const Result<graph::Program> program = front::BuildProgram(imported_, {});
  ASSERT_TRUE(program.ok()) << program.status().message();
  Check("tests/golden/graph/tasks.txt", graph::TaskTable(*program));
  Check("tests/golden/graph/program.txt", graph::ToText(*program));
}

}  // namespace
}  // namespace mlc::golden
