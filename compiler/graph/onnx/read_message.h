// Readers of the messages inside a model, one for each kind. A reader adds the fields of `bytes` to
// an empty message, which then borrows the bytes. INVALID_ARGUMENT if the bytes are malformed or
// exceed the budget. Each reader counts the parts of its message; nodes and attributes count
// themselves, other messages are counted by their container. Not thread-safe for one budget.
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
