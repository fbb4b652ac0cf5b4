// Values of every type that cmake/gdb/mlc_printers.py prints, for printers_test.py, which stops
// this program in Stop(). Needs headers alone.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/digest.h"
#include "base/status.h"
#include "compiler/graph/graph.h"
#include "compiler/ir/ir.h"
#include "compiler/schedule/space/config.h"

// A graph's values are private, and adding one takes the library.
template <auto member>
struct PrivateMember {
  friend auto& ValuesOf(mlc::graph::Graph& graph) { return graph.*member; }
};
auto& ValuesOf(mlc::graph::Graph& graph);
template struct PrivateMember<&mlc::graph::Graph::values_>;

namespace {

using mlc::DType;
using mlc::ScalarOp;

mlc::ir::ExprRef Expr(mlc::ir::Type type, decltype(mlc::ir::Expr::node) node) {
  return std::make_shared<const mlc::ir::Expr>(mlc::ir::Expr{type, std::move(node)});
}

mlc::ir::ExprRef Int(int64_t value) { return Expr({}, mlc::ir::IntImm{value}); }

mlc::ir::StmtRef Stmt(decltype(mlc::ir::Stmt::node) node) {
  return std::make_shared<const mlc::ir::Stmt>(mlc::ir::Stmt{std::move(node)});
}

[[gnu::noinline]] void Stop() { asm volatile(""); }

}  // namespace

int main() {
  const mlc::Status fine;
  const mlc::Status refused(mlc::StatusCode::kInvalidArgument, "no such knob");
  const mlc::Result<int> seven(7);
  const mlc::Result<std::string> missing(mlc::Status(mlc::StatusCode::kNotFound, "no record"));
  const mlc::Digest digest{0x1fc9d1a8792a3f18, 0x9b68ba7c41bf1731};
  const mlc::schedule::Config config{"contraction", 2, {{"mr", 14}, {"nr", 2}}};

  const mlc::graph::TensorType type{DType::kF32, {1, 8, 4, 4}, {128, 1, 32, 8}};
  mlc::graph::Graph graph;
  mlc::graph::Value input, sum;
  input.type = type;
  sum.op = mlc::graph::Op::kPointwise;
  sum.scalar = ScalarOp::kAdd;
  sum.operands = {0, mlc::graph::kNoValue};
  sum.attrs = {
      {"axis", int64_t{1}}, {"mode", std::string("edge")}, {"pads", std::vector<int64_t>{0, 2}}};
  sum.type = {DType::kBF16, {16}, {}};
  ValuesOf(graph) = {input, sum};
  graph.outputs() = {1};

  const mlc::ir::Type vector{DType::kF32, 16};
  const mlc::ir::ExprRef index = Expr(
      {}, mlc::ir::Apply{
              ScalarOp::kAdd,
              {Expr({}, mlc::ir::Apply{ScalarOp::kMul, {Expr({}, mlc::ir::VarRef{1}), Int(16)}}),
               Int(3)}});
  const mlc::ir::ExprRef load = Expr(vector, mlc::ir::Load{0, index, 2, Int(5)});
  const mlc::ir::ExprRef half =
      Expr(vector, mlc::ir::Broadcast{Expr({DType::kF32, 1}, mlc::ir::FloatImm{0.5})});
  const mlc::ir::ExprRef lanes = Expr({DType::kBool, 16}, mlc::ir::LaneMask{Int(4)});
  const mlc::ir::ExprRef value = Expr(vector, mlc::ir::Apply{ScalarOp::kFma, {load, half, load}});
  const mlc::ir::StmtRef store = Stmt(mlc::ir::Store{1, index, value});
  const mlc::ir::StmtRef body = Stmt(mlc::ir::Block{
      {Stmt(mlc::ir::Let{2, index}), store, Stmt(mlc::ir::Sync{mlc::ir::SyncKind::kWaitCopies, 1}),
       Stmt(mlc::ir::If{lanes, store, store})}});
  mlc::ir::For inner{1, Int(0), Int(14)};
  inner.kind = mlc::ir::LoopKind::kUnrolled;
  inner.step = 2;
  inner.body = body;
  mlc::ir::For outer{0, Int(0), Int(8)};
  outer.kind = mlc::ir::LoopKind::kParallel;
  outer.body = Stmt(inner);
  mlc::ir::Kernel kernel;
  kernel.name = "scale";
  kernel.buffers = {{"x", DType::kF32, 1, 1024, mlc::ir::Scope::kIn},
                    {"y", DType::kF32, 1, 1024, mlc::ir::Scope::kOut},
                    {"acc", DType::kF32, 16, 4, mlc::ir::Scope::kRegister}};
  kernel.vars = {"chunk", "i", "at"};
  kernel.phases = {Stmt(outer)};
  Stop();
  return fine.ok() && !refused.ok() && seven.ok() && !missing.ok() && digest.low != 0 &&
                 config.version == 2 && graph.size() == 2 && !kernel.phases.empty()
             ? 0
             : 1;
}
