#include "compiler/codegen/cuda/vector_memory.h"

#include <algorithm>
#include <numeric>

namespace mlc::codegen {

namespace {

constexpr int kWidestBytes = 16;

// Half a word, the shortest that is packed.
bool IsPairOfBytes(DType dtype, int lanes) {
  return lanes == 2 && (dtype == DType::kU8 || dtype == DType::kI8);
}

Text Plus(const Text& index, int64_t offset) {
  if (offset == 0) return index;
  return Infix(index, "+", IntText(offset, false), Precedence::kAdd);
}

}  // namespace

LaneArray LaneArray::Of(DType dtype, int lanes) {
  const int bytes = SizeOf(dtype) * lanes;
  if (IsPairOfBytes(dtype, lanes)) return {"unsigned", 1, true};
  if (SizeOf(dtype) < 4 && bytes % 4 == 0) return {"unsigned", bytes / 4, true};
  return {StorageType(dtype), lanes, false};
}

Pieces VectorMemory::Cut(ir::BufferId buffer, const ir::ExprRef& index, int lanes, int64_t stride,
                         const ir::ExprRef& mask, Access access) {
  Pieces pieces;
  const ir::Scope scope = scope_.BufferOf(buffer).scope;
  pieces.name = scope_.NameOf(buffer);
  pieces.dtype = scope_.BufferOf(buffer).dtype;
  pieces.access = access;
  pieces.lanes = lanes;
  pieces.stride = stride;
  const IndexFacts facts = scope_.analysis.Of(index);
  const int size = SizeOf(pieces.dtype);
  // Private memory is accessed by element, so that the compiler can keep it in registers.
  if (stride == 1 && scope != ir::Scope::kThread) {
    const int64_t aligned = std::gcd(facts.multiple, int64_t{kWidestBytes}) * size;
    const int64_t bytes = std::gcd(std::gcd(aligned, int64_t{kWidestBytes}), int64_t{lanes} * size);
    const bool pair = bytes == 2 && IsPairOfBytes(pieces.dtype, lanes);
    pieces.piece_lanes = bytes >= 4 || pair ? static_cast<int>(bytes) / size : 1;
  }
  const bool one = pieces.packed() && pieces.piece_lanes == lanes;
  pieces.index = scalars_.Scalar(index);
  const int64_t reach = std::max<int64_t>(stride * (lanes - 1), 0);
  const bool leaves_int = facts.FitsInt() && facts.high + reach > INT32_MAX;
  if (leaves_int) pieces.index = CastTo("long long", pieces.index);
  if (!pieces.index.IsWord() && (!one || mask != nullptr)) {
    pieces.index = text_.Temporary(leaves_int ? "long long" : IndexType(facts), pieces.index);
  }
  if (mask == nullptr) return pieces;
  pieces.mask = scalars_.Scalar(mask);
  if (!pieces.mask.IsWord()) pieces.mask = text_.Temporary(scope_.TypeOf(mask), pieces.mask);
  pieces.mask_cuts_pieces = scope_.analysis.Of(mask).DividesBy(pieces.piece_lanes);
  return pieces;
}

void VectorMemory::Move(const Pieces& pieces, const std::string& array, const LaneArray& form) {
  const bool masked = !pieces.mask.text.empty();
  if (!pieces.packed()) return MoveElements(pieces, array, form, masked);
  const int count = pieces.lanes / pieces.piece_lanes;
  if (masked && !pieces.mask_cuts_pieces) {
    text_.Open("if (" + pieces.mask.text + " >= " + std::to_string(pieces.lanes) + ")");
    for (int i = 0; i < count; ++i) text_.Line(PieceText(pieces, array, form, i));
    text_.Else();
    MoveElements(pieces, array, form, true);
    text_.Close();
    return;
  }
  for (int i = 0; i < count; ++i) {
    std::string text;
    if (masked) {
      text = "if (" + pieces.mask.text + " > " + std::to_string(i * pieces.piece_lanes) + ") ";
    }
    text_.Line(text + PieceText(pieces, array, form, i));
  }
}

std::string VectorMemory::PieceText(const Pieces& pieces, const std::string& array,
                                    const LaneArray& form, int piece) {
  const int count = form.count * pieces.piece_lanes / pieces.lanes;  // array elements of a piece
  const std::string first = std::to_string(piece * count);
  const bool loads = pieces.access == Access::kLoad;
  std::string memory =
      "&" + pieces.name + "[" + Plus(pieces.index, int64_t{piece} * pieces.piece_lanes).text + "]";
  if (form.words) {
    const std::string type =
        IsPairOfBytes(pieces.dtype, pieces.lanes) ? "unsigned short" : "unsigned";
    memory = (loads ? "(const " : "(") + type + "*)" + memory;
  }
  if (count > 1) {
    const std::string function = scope_.functions.UseVector(pieces.access, form.type, count);
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

void VectorMemory::MoveElements(const Pieces& pieces, const std::string& array,
                                const LaneArray& form, bool masked) {
  const bool bytes = SizeOf(pieces.dtype) == 1;
  text_.LaneLoop(0, pieces.lanes, [&] {
    const Text offset =
        pieces.stride == 1 ? Text{"L"}
                           : Infix(IntText(pieces.stride, false), "*", Text{"L"}, Precedence::kMul);
    const std::string memory =
        pieces.name + "[" + Infix(pieces.index, "+", offset, Precedence::kAdd).text + "]";
    std::string text;
    if (masked) text = "if (L < " + pieces.mask.text + ") ";
    if (pieces.access == Access::kStore || pieces.access == Access::kStoreStreaming) {
      const std::string value =
          form.words
              ? std::string(scope_.functions.Use(bytes ? "Lane8" : "Lane16")) + "(" + array + ", L)"
              : array + "[L]";
      return text + memory + " = " + value + ";";
    }
    if (!form.words) return text + array + "[L] = " + memory + ";";
    return text + std::string(scope_.functions.Use(bytes ? "SetLane8" : "SetLane16")) + "(" +
           array + ", L, " + memory + ");";
  });
}

}  // namespace mlc::codegen
