// Vectors in memory: the widest accesses that the index proves aligned, all lanes or some.
#include <algorithm>
#include <numeric>

#include "compiler/codegen/cuda/phase_printer.h"

namespace mlc::codegen {

namespace {

constexpr int kWidestBytes = 16;

Text Plus(const Text& index, int64_t offset) {
  if (offset == 0) return index;
  return Infix(index, "+", IntText(offset, false), Precedence::kAdd);
}

}  // namespace

PhasePrinter::Pieces PhasePrinter::CutPieces(ir::BufferId buffer, const ir::ExprRef& index,
                                             int lanes, int64_t stride, const ir::ExprRef& mask,
                                             Access access) {
  Pieces pieces;
  const ir::Scope scope = BufferOf(buffer).scope;
  pieces.name = NameOf(buffer);
  pieces.dtype = BufferOf(buffer).dtype;
  pieces.access = access;
  pieces.lanes = lanes;
  pieces.stride = stride;
  const IndexFacts facts = analysis_.Of(index);
  const int size = SizeOf(pieces.dtype);
  // Private memory is accessed by element, so that the compiler can keep it in registers.
  if (stride == 1 && scope != ir::Scope::kThread) {
    const int64_t aligned = std::gcd(facts.multiple, int64_t{kWidestBytes}) * size;
    const int64_t bytes = std::gcd(std::gcd(aligned, int64_t{kWidestBytes}), int64_t{lanes} * size);
    pieces.piece_lanes = bytes >= 4 ? static_cast<int>(bytes) / size : 1;
  }
  const bool one = pieces.packed() && pieces.piece_lanes == lanes;
  pieces.index = Scalar(index);
  const int64_t reach = std::max<int64_t>(stride * (lanes - 1), 0);
  const bool leaves_int = facts.FitsInt() && facts.high + reach > INT32_MAX;
  if (leaves_int) pieces.index = CastTo("long long", pieces.index);
  if (!pieces.index.IsWord() && (!one || mask != nullptr)) {
    pieces.index = Temporary(leaves_int ? "long long" : IndexType(facts), pieces.index);
  }
  if (mask == nullptr) return pieces;
  pieces.mask = Scalar(mask);
  if (!pieces.mask.IsWord()) pieces.mask = Temporary(TypeOf(mask), pieces.mask);
  pieces.mask_cuts_pieces = analysis_.Of(mask).DividesBy(pieces.piece_lanes);
  return pieces;
}

void PhasePrinter::LoadVector(const ir::ExprRef& e, const ir::Load& load) {
  const ir::Buffer& buffer = BufferOf(load.buffer);
  const int lanes = e->type.lanes;
  const Pieces pieces =
      CutPieces(load.buffer, load.index, lanes, load.stride, load.mask, Access::kLoad);
  const Rep packed = RepOf(buffer.dtype, lanes);
  const Rep rep = pieces.packed() ? packed : Rep{StorageType(buffer.dtype), lanes, false};
  const std::string array = NewArray(rep.type, rep.count, load.mask != nullptr);
  MovePieces(pieces, array, rep);
  lane_ready_.emplace(e.get(), LaneOf(array, Text{"0"}, rep, buffer.dtype));
  if (rep.words == packed.words) raw_.emplace(e.get(), array);
}

void PhasePrinter::StoreVector(const ir::Store& store) {
  const ir::Buffer& buffer = BufferOf(store.buffer);
  const bool global = buffer.scope == ir::Scope::kOut || buffer.scope == ir::Scope::kWorkspace;
  const Access access = store.streaming && global ? Access::kStoreStreaming : Access::kStore;
  PrepareLanes(store.value);
  const int lanes = store.value->type.lanes;
  const Pieces pieces =
      CutPieces(store.buffer, store.index, lanes, store.stride, store.mask, access);
  if (pieces.packed()) {
    return MovePieces(pieces, StorageArray(store.value), RepOf(buffer.dtype, lanes));
  }
  const Text base = pieces.index;
  LaneLoop(0, lanes, [&] {
    const Text offset = store.stride == 1
                            ? Text{"L"}
                            : Infix(IntText(store.stride, false), "*", Text{"L"}, Precedence::kMul);
    const Text at = Infix(base, "+", offset, Precedence::kAdd);
    std::string text;
    if (store.mask != nullptr) text = "if (L < " + pieces.mask.text + ") ";
    return text + pieces.name + "[" + at.text +
           "] = " + ToStorage(buffer.dtype, Lane(store.value)).text + ";";
  });
}

void PhasePrinter::MovePieces(const Pieces& pieces, const std::string& array, const Rep& rep) {
  const bool masked = !pieces.mask.text.empty();
  if (!pieces.packed()) return MoveElements(pieces, array, rep, masked);
  const int count = pieces.lanes / pieces.piece_lanes;
  if (masked && !pieces.mask_cuts_pieces) {
    Open("if (" + pieces.mask.text + " >= " + std::to_string(pieces.lanes) + ")");
    for (int i = 0; i < count; ++i) Line(PieceText(pieces, array, rep, i));
    --depth_;
    Open("} else");
    MoveElements(pieces, array, rep, true);
    Close();
    return;
  }
  for (int i = 0; i < count; ++i) {
    std::string text;
    if (masked) {
      text = "if (" + pieces.mask.text + " > " + std::to_string(i * pieces.piece_lanes) + ") ";
    }
    Line(text + PieceText(pieces, array, rep, i));
  }
}

std::string PhasePrinter::PieceText(const Pieces& pieces, const std::string& array, const Rep& rep,
                                    int piece) {
  const int count = rep.count * pieces.piece_lanes / pieces.lanes;  // array elements of a piece
  const std::string first = std::to_string(piece * count);
  const bool loads = pieces.access == Access::kLoad;
  std::string memory =
      "&" + pieces.name + "[" + Plus(pieces.index, int64_t{piece} * pieces.piece_lanes).text + "]";
  if (rep.words) memory = (loads ? "(const unsigned*)" : "(unsigned*)") + memory;
  if (count > 1) {
    const std::string function = functions_.UseVector(pieces.access, rep.type, count);
    const std::string place = piece == 0 ? array : array + " + " + first;
    return loads ? function + "(" + place + ", " + memory + ");"
                 : function + "(" + memory + ", " + place + ");";
  }
  const std::string element = array + "[" + first + "]";
  switch (pieces.access) {
    case Access::kLoad:
      return element + " = *" + memory + ";";
    case Access::kStore:
      return "*" + memory + " = " + element + ";";
    case Access::kStoreStreaming:
      return "__stcs(" + memory + ", " + element + ");";
  }
  return {};
}

void PhasePrinter::MoveElements(const Pieces& pieces, const std::string& array, const Rep& rep,
                                bool masked) {
  const bool bytes = SizeOf(pieces.dtype) == 1;
  LaneLoop(0, pieces.lanes, [&] {
    const Text offset =
        pieces.stride == 1 ? Text{"L"}
                           : Infix(IntText(pieces.stride, false), "*", Text{"L"}, Precedence::kMul);
    const std::string memory =
        pieces.name + "[" + Infix(pieces.index, "+", offset, Precedence::kAdd).text + "]";
    std::string text;
    if (masked) text = "if (L < " + pieces.mask.text + ") ";
    if (pieces.access == Access::kStore || pieces.access == Access::kStoreStreaming) {
      const std::string value =
          rep.words ? std::string(functions_.Use(bytes ? "Lane8" : "Lane16")) + "(" + array + ", L)"
                    : array + "[L]";
      return text + memory + " = " + value + ";";
    }
    if (!rep.words) return text + array + "[L] = " + memory + ";";
    return text + std::string(functions_.Use(bytes ? "SetLane8" : "SetLane16")) + "(" + array +
           ", L, " + memory + ");";
  });
}

}  // namespace mlc::codegen
