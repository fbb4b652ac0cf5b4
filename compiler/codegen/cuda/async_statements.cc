#include "compiler/codegen/cuda/async_statements.h"

#include <string>

namespace mlc::codegen {

void AsyncStatementPrinter::Print(const ir::MbarrierInit& init) {
  expressions_.Begin({init.index});
  const Text at = scalars_.Place(init.barrier, init.index);
  text_.Line(std::string(scope_.functions.Use("MbarrierInit")) + "(" + at.text + ", " +
             std::to_string(init.arrivals) + ");");
}

void AsyncStatementPrinter::Print(const ir::MbarrierArrive& arrive) {
  expressions_.Begin({arrive.index, arrive.rank});
  const Text at = scalars_.Place(arrive.barrier, arrive.index);
  if (arrive.rank != nullptr) {
    const Text rank = scalars_.Scalar(arrive.rank);
    return text_.Line(std::string(scope_.functions.Use("MbarrierArriveAt")) + "(" + at.text + ", " +
                      rank.text + ");");
  }
  if (arrive.bytes == 0) {
    return text_.Line(std::string(scope_.functions.Use("MbarrierArrive")) + "(" + at.text + ");");
  }
  text_.Line(std::string(scope_.functions.Use("MbarrierArriveExpect")) + "(" + at.text + ", " +
             std::to_string(arrive.bytes) + ");");
}

void AsyncStatementPrinter::Print(const ir::MbarrierWait& wait) {
  expressions_.Begin({wait.index, wait.parity});
  const Text at = scalars_.Place(wait.barrier, wait.index);
  const Text parity = scalars_.Scalar(wait.parity);
  text_.Line(std::string(scope_.functions.Use("MbarrierWait")) + "(" + at.text + ", " +
             parity.text + ");");
}

std::string AsyncStatementPrinter::Ranks(const ir::ExprRef& ranks) {
  return ranks == nullptr ? "" : ", " + scalars_.Scalar(ranks).text;
}

void AsyncStatementPrinter::Print(const ir::CopyBulk& copy) {
  expressions_.Begin({copy.to_index, copy.from_index, copy.barrier_index, copy.ranks});
  const Text to = scalars_.Place(copy.to, copy.to_index);
  const Text from = scalars_.Place(copy.from, copy.from_index);
  const Text barrier = scalars_.Place(copy.barrier, copy.barrier_index);
  const int64_t bytes = int64_t{copy.elements} * SizeOf(scope_.BufferOf(copy.from).dtype);
  const char* function = copy.ranks == nullptr ? "CopyBulk" : "CopyBulkToRanks";
  text_.Line(std::string(scope_.functions.Use(function)) + "(" + to.text + ", " + from.text + ", " +
             std::to_string(bytes) + ", " + barrier.text + Ranks(copy.ranks) + ");");
}

void AsyncStatementPrinter::Print(const ir::CopyTensor& copy) {
  const auto outer = [&](size_t d) { return d < copy.outer.size() ? copy.outer[d].at : nullptr; };
  expressions_.Begin({copy.to_index, copy.row, copy.k, outer(0), outer(1), outer(2),
                      copy.barrier_index, copy.ranks});
  const Text to = scalars_.Place(copy.to, copy.to_index);
  const Text barrier = scalars_.Place(copy.barrier, copy.barrier_index);
  const auto place = [&](const ir::ExprRef& e) {
    return ", (int)" + scalars_.Scalar(e).At(Precedence::kUnary);
  };
  std::string places = place(copy.k) + place(copy.row);
  for (const ir::BoxAxis& axis : copy.outer) places += place(axis.at);
  std::string function = copy.outer.empty() ? "CopyTensor" : "CopyBox";
  if (!copy.outer.empty()) function += std::to_string(copy.outer.size() + 2);
  if (copy.ranks != nullptr) function += "ToRanks";
  text_.Line(std::string(scope_.functions.Use(function)) + "(" + to.text + ", &" +
             scope_.maps.NameOf(copy) + places + ", " + barrier.text + Ranks(copy.ranks) + ");");
}

}  // namespace mlc::codegen
