// Readers of the messages inside a model, one for each kind: the fields of `bytes` are added to an
// empty message, which then borrows the bytes. INVALID_ARGUMENT if the bytes are malformed or over
// a limit of the budget. Each counts its parts; whether the message itself counts depends on what
// holds it, except nodes and attributes, which always do. Not thread-safe for one budget.
#pragma once

#include <string_view>

#include "base/status.h"
#include "compiler/graph/onnx/model.h"
#include "compiler/graph/onnx/read_budget.h"

namespace mlc::graph::onnx {

Status ReadTensor(std::string_view bytes, ReadBudget& budget, TensorMessage& tensor);
Status ReadValue(std::string_view bytes, const ReadBudget& budget, ValueMessage& value);
Status ReadGraph(std::string_view bytes, ReadBudget& budget, GraphMessage& graph);
Status ReadNode(std::string_view bytes, ReadBudget& budget, NodeMessage& node);
Status ReadAttribute(std::string_view bytes, ReadBudget& budget, AttributeMessage& attribute);

}  // namespace mlc::graph::onnx
