#include "compiler/graph/passes/causal_masks.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "compiler/graph/evaluate/evaluate.h"
#include "tests/unit/graph/passes/attention_net.h"

namespace mlc::graph {
namespace {

constexpr int64_t kBatch = 2, kHeads = 3, kQueries = 4, kKeys = 6, kDepth = 4;

// What is added to the scores: `shown` up to the key `ahead` places after the query, then `hidden`.
std::vector<double> Causal(double shown, double hidden, int64_t ahead, int64_t times = 1) {
  std::vector<double> values;
  for (int64_t i = 0; i < times * kQueries; ++i) {
    for (int64_t t = 0; t < kKeys; ++t) {
      values.push_back(t <= i % kQueries + ahead ? shown : hidden);
    }
  }
  return values;
}

struct MaskCase {
  const char* name;
  std::function<ValueId(Net&)> mask;
  int64_t first = 0;  // the first key that query 0 does not see; 0: the mask stays
  DType dtype = DType::kF32;
};

std::ostream& operator<<(std::ostream& out, const MaskCase& c) { return out << c.name; }

ValueId Attended(Net& net, ValueId mask) {
  Value attention;
  attention.op = Op::kAttention;
  attention.type = {net.dtype, {kBatch, kHeads, kQueries, kDepth}, {}};
  attention.operands = {net.Input({kBatch, kHeads, kQueries, kDepth}),
                        net.Input({kBatch, kHeads, kKeys, kDepth}),
                        net.Input({kBatch, kHeads, kKeys, kDepth}), mask};
  attention.attrs["scale"] = 0.5;
  return net.graph.Add(std::move(attention));
}

class CausalMasks : public ::testing::TestWithParam<MaskCase> {};

TEST_P(CausalMasks, AreComputedAndHideTheSame) {
  const MaskCase& c = GetParam();
  Net net(c.dtype);
  const ValueId mask = c.mask(net);
  net.graph.outputs() = {Attended(net, mask), Attended(net, mask)};
  Graph graph = net.graph;
  const Result<bool> changed = ComputeCausalMasks(graph);
  ASSERT_TRUE(changed.ok()) << changed.status().message();
  EXPECT_EQ(*changed, c.first > 0);
  ASSERT_TRUE(graph.Verify().ok()) << graph.Verify().message();
  std::vector<ValueId> masks;
  for (ValueId id = 0; id < graph.size(); ++id) {
    if (graph[id].op != Op::kAttention) continue;
    const Value& node = graph[graph[id].operands[3]];
    masks.push_back(graph[id].operands[3]);
    ASSERT_EQ(node.op == Op::kTrilu, c.first > 0) << graph.ToText();
    if (c.first == 0) continue;
    EXPECT_EQ(node.Int("k"), c.first);
    EXPECT_EQ(node.type.dims, (Dims{kQueries, kKeys}));
    EXPECT_EQ(node.type.dtype, c.dtype);
  }
  ASSERT_EQ(masks.size(), 2u);
  // Each is a part of its attention's task.
  EXPECT_EQ(masks[0] != masks[1], c.first > 0);
  if (c.first == 0) return;
  const auto before = Evaluate(net.graph, net.sources), after = Evaluate(graph, net.sources);
  ASSERT_TRUE(before.ok() && after.ok());
  for (size_t i = 0; i < before->size(); ++i) {
    EXPECT_EQ(ReadDoubles(*(*before)[i]), ReadDoubles(*(*after)[i]));
  }
}

const MaskCase kCases[] = {
    {"infinite",
     [](Net& n) {
       return n.Constant({kQueries, kKeys}, Causal(0, -kInf, 0));
     },
     1},
    {"lowest",
     [](Net& n) {
       return n.Constant({1, 1, kQueries, kKeys}, Causal(0, kLowest, 0));
     },
     1},
    {"half",
     [](Net& n) {
       return n.Constant({1, kQueries, kKeys}, Causal(0, -65504, 0));
     },
     1, DType::kF16},
    {"bfloat",
     [](Net& n) {
       return n.Constant({kQueries, kKeys}, Causal(0, -3e38, 0));
     },
     1, DType::kBF16},
    {"keys of an earlier part",
     [](Net& n) {
       return n.Constant({kQueries, kKeys}, Causal(0, -kInf, kKeys - kQueries));
     },
     kKeys - kQueries + 1},
    {"last queries see all",
     [](Net& n) {
       return n.Constant({kQueries, kKeys}, Causal(0, -kInf, kKeys - 2));
     },
     kKeys - 1},
    {"for each batch",
     [](Net& n) {
       return n.Constant({kBatch, 1, kQueries, kKeys}, Causal(0, -kInf, 0, kBatch));
     },
     1},
    {"repeated",
     [](Net& n) {
       const ValueId one = n.Constant({1, 1, kQueries, kKeys}, Causal(0, -kInf, 0));
       return n.Expand(one, {kBatch, 1, kQueries, kKeys});
     },
     1},
    {"selected by a repeated condition",
     [](Net& n) {
       const ValueId shown = n.Reshape(n.Causal(kQueries, kKeys), {1, kQueries, kKeys});
       const ValueId all = n.Expand(shown, {kBatch, 1, kQueries, kKeys});
       return n.Where(all, n.Number(0), n.Number(kLowest));
     },
     1},
    {"hides too little",
     [](Net& n) {
       return n.Constant({kQueries, kKeys}, Causal(0, -1e4, 0));
     }},
    {"shifts what it shows",
     [](Net& n) {
       return n.Constant({kQueries, kKeys}, Causal(0.5, -kInf, 0));
     }},
    {"hides nothing",
     [](Net& n) {
       return n.Constant({kQueries, kKeys}, Causal(0, -kInf, 9));
     }},
    {"hides a whole row",
     [](Net& n) {
       return n.Constant({kQueries, kKeys}, Causal(0, -1e9, -1));
     }},
    {"hides earlier keys",
     [](Net& n) {
       std::vector<double> values = Causal(0, -kInf, 0);
       values[kKeys * (kQueries - 1)] = -kInf;
       return n.Constant({kQueries, kKeys}, values);
     }},
    {"shows a later key",
     [](Net& n) {
       std::vector<double> values = Causal(0, -kInf, 0);
       values[kKeys - 1] = 0;
       return n.Constant({kQueries, kKeys}, values);
     }},
    {"differs between batches",
     [](Net& n) {
       std::vector<double> values = Causal(0, -kInf, 0, kBatch);
       values.back() = 0;
       return n.Constant({kBatch, 1, kQueries, kKeys}, values);
     }},
    {"is no number",
     [](Net& n) {
       return n.Constant({kQueries, kKeys}, Causal(0, std::nan(""), 0));
     }},
    {"of keys alone",
     [](Net& n) {
       return n.Constant({kKeys}, {0, -kInf, -kInf, -kInf, -kInf, -kInf});
     }},
    {"an input",
     [](Net& n) {
       return n.Input({kQueries, kKeys});
     }},
};

INSTANTIATE_TEST_SUITE_P(Masks, CausalMasks, ::testing::ValuesIn(kCases));

}  // namespace
}  // namespace mlc::graph
