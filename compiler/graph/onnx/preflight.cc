#include "compiler/graph/onnx/preflight.h"

#include <algorithm>

#include "compiler/graph/onnx/importer.h"
#include "compiler/graph/onnx/tables.h"

namespace mlc::graph::onnx {
namespace {

constexpr int kMaxCallDepth = 32;

// Walks everything that can be reached from the model's graph, each function once.
class Walker {
 public:
  Walker(const FunctionTable& functions, int64_t max_nodes, size_t listed_nodes)
      : functions_(functions), max_nodes_(max_nodes), listed_nodes_(listed_nodes) {}

  // Nodes after inlining.
  Result<int64_t> Nodes(const std::vector<NodeMessage>& nodes) {
    int64_t total = 0;
    for (const NodeMessage& node : nodes) {
      total += 1 + MLC_TRY(Node(node));
      if (total > max_nodes_) {
        return InvalidArgument("the model expands to more than " + std::to_string(max_nodes_) +
                               " nodes");
      }
    }
    return total;
  }

  std::vector<UnsupportedOperator> TakeUnsupported() {
    std::vector<UnsupportedOperator> list;
    for (auto& [name, entry] : unsupported_) list.push_back(std::move(entry));
    return list;
  }
  std::map<std::string, int64_t> TakeOperators() { return std::move(operators_); }

 private:
  Result<int64_t> Node(const NodeMessage& node) {
    const auto function = functions_.find(KeyOf(node));
    if (function != functions_.end()) return Call(node, *function->second);
    ++operators_[NameOf(node)];
    if (!IsSupported(node)) Note(node);
    int64_t total = 0;
    for (const AttributeMessage& attribute : node.attributes) {
      if (attribute.graph != nullptr) total += MLC_TRY(Nodes(attribute.graph->nodes));
    }
    return total;
  }

  Result<int64_t> Call(const NodeMessage& node, const FunctionMessage& function) {
    const auto known = sizes_.find(&function);
    if (known != sizes_.end()) {
      if (known->second >= 0) return known->second;
      return InvalidArgument(Describe(node) + ": the function calls itself");
    }
    if (depth_ == kMaxCallDepth) {
      return InvalidArgument(Describe(node) + ": functions call each other more than " +
                             std::to_string(kMaxCallDepth) + " deep");
    }
    sizes_[&function] = -1;
    ++depth_;
    const int64_t size = MLC_TRY(Nodes(function.nodes));
    --depth_;
    sizes_[&function] = size;
    return size;
  }

  static std::string NameOf(const NodeMessage& node) {
    const std::string name = Printable(node.op_type);
    return IsDefaultDomain(node.domain) ? name : Printable(node.domain) + ":" + name;
  }

  void Note(const NodeMessage& node) {
    const std::string name = NameOf(node);
    UnsupportedOperator& entry = unsupported_[name];
    entry.name = name;
    entry.domain = IsDefaultDomain(node.domain) ? "" : Printable(node.domain);
    entry.op_type = Printable(node.op_type);
    if (entry.nodes.size() < listed_nodes_) {
      const std::string_view fallback = node.outputs.empty() ? "" : node.outputs[0];
      entry.nodes.push_back(Printable(node.name.empty() ? fallback : node.name));
    }
    ++entry.count;
  }

  const FunctionTable& functions_;
  int64_t max_nodes_;
  size_t listed_nodes_;
  int depth_ = 0;
  std::map<const FunctionMessage*, int64_t> sizes_;  // -1 while being walked
  std::map<std::string, UnsupportedOperator> unsupported_;
  std::map<std::string, int64_t> operators_;
};

}  // namespace

FunctionKey KeyOf(const NodeMessage& node) { return {node.domain, node.op_type, node.overload}; }

std::string Describe(const NodeMessage& node) {
  std::string text = "node ";
  if (node.name.empty() && !node.outputs.empty()) {
    text += "of " + Quote(node.outputs[0]);
  } else {
    text += Quote(node.name);
  }
  return text + " (" + Printable(node.op_type) + ")";
}

Result<int64_t> DefaultOpset(const std::vector<OpsetMessage>& opsets, std::string_view of_what) {
  const std::string what(of_what);
  for (const OpsetMessage& opset : opsets) {
    if (!IsDefaultDomain(opset.domain)) continue;
    const std::string version = std::to_string(opset.version);
    if (opset.version < kMinOpset) return InvalidArgument(what + " names operator set " + version);
    if (opset.version > kMaxOpset) {
      return Unimplemented(what + " uses operator set " + version + ", newer than " +
                           std::to_string(kMaxOpset) + ": export it again with an older one");
    }
    return opset.version;
  }
  return InvalidArgument(what + " names no version of the default operator set");
}

namespace {

// Two versions of one domain are ambiguous.
Status CheckOpsetsUnique(const std::vector<OpsetMessage>& opsets, const std::string& what) {
  std::map<std::string_view, int64_t> versions;
  for (const OpsetMessage& opset : opsets) {
    const std::string_view domain = IsDefaultDomain(opset.domain) ? "" : opset.domain;
    const auto [known, is_new] = versions.emplace(domain, opset.version);
    if (is_new) continue;
    return InvalidArgument(what + " lists the operator set of domain " +
                           Quote(domain.empty() ? "ai.onnx" : domain) + " twice, as version " +
                           std::to_string(known->second) + " and as version " +
                           std::to_string(opset.version) + ": keep one opset_import of it");
  }
  return Status();
}

}  // namespace

Result<Preflight> CheckModel(const ModelMessage& model, int64_t max_nodes, size_t listed_nodes) {
  Preflight preflight;
  MLC_TRY(CheckOpsetsUnique(model.opsets, "the model"));
  for (const FunctionMessage& function : model.functions) {
    MLC_TRY(CheckOpsetsUnique(function.opsets, "function " + Quote(function.name)));
    const FunctionKey key = {function.domain, function.name, function.overload};
    if (!preflight.functions.emplace(key, &function).second) {
      return InvalidArgument("function " + Quote(function.name) + " is defined twice");
    }
  }
  Walker walker(preflight.functions, max_nodes, listed_nodes);
  MLC_TRY(walker.Nodes(model.graph.nodes));
  preflight.unsupported = walker.TakeUnsupported();
  preflight.operators = walker.TakeOperators();
  return preflight;
}

Status UnsupportedStatus(const std::vector<UnsupportedOperator>& unsupported) {
  if (unsupported.empty()) return Status();
  std::string text = "unsupported operators: ";
  for (size_t i = 0; i < unsupported.size(); ++i) {
    const UnsupportedOperator& entry = unsupported[i];
    if (i > 0) text += ", ";
    text += entry.name + (entry.count == 1 ? " (node " : " (nodes ");
    for (size_t k = 0; k < entry.nodes.size(); ++k) {
      text += (k > 0 ? ", " : "") + entry.nodes[k];
    }
    if (entry.count > static_cast<int64_t>(entry.nodes.size())) {
      text += "; " + std::to_string(entry.count) + " in all";
    }
    text += ')';
  }
  return Unimplemented(text);
}

}  // namespace mlc::graph::onnx
