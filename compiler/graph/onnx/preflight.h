// Checks of the whole model before the first node is lowered: its operator sets, its functions
// (unique, acyclic, with bounded expansion) and the operators that it needs. Thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/status.h"
#include "compiler/graph/onnx/import.h"
#include "compiler/graph/onnx/model.h"

namespace mlc::graph::onnx {

inline constexpr int64_t kMinOpset = 1;
inline constexpr int64_t kMaxOpset = 28;

// Functions by domain, name and overload.
using FunctionKey = std::tuple<std::string_view, std::string_view, std::string_view>;
using FunctionTable = std::map<FunctionKey, const FunctionMessage*>;

FunctionKey KeyOf(const NodeMessage& node);
// "node 'conv1' (Conv)", fit for a message; unnamed nodes go by their first result.
std::string Describe(const NodeMessage& node);

// The version of the default operator set; INVALID_ARGUMENT if absent, UNIMPLEMENTED if unknown.
Result<int64_t> DefaultOpset(const std::vector<OpsetMessage>& opsets, std::string_view of_what);

struct Preflight {
  FunctionTable functions;
  std::vector<UnsupportedOperator> unsupported;
  std::map<std::string, int64_t> operators;  // number of nodes; a function counts once
};

// INVALID_ARGUMENT for functions that are defined twice, call themselves or expand to more than
// `max_nodes` nodes. Lists up to `listed_nodes` nodes of each unsupported operator.
Result<Preflight> CheckModel(const ModelMessage& model, int64_t max_nodes, size_t listed_nodes = 3);

// UNIMPLEMENTED naming every unsupported operator in one line; OK if there is none.
Status UnsupportedStatus(const std::vector<UnsupportedOperator>& unsupported);

}  // namespace mlc::graph::onnx
