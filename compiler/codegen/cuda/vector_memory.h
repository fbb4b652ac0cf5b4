// Vector accesses to memory: the widest accesses that the index proves aligned, for all lanes or
// some. Not thread-safe; borrows its arguments.
#pragma once

#include <string>
#include <string_view>

#include "compiler/codegen/cuda/scalars.h"

namespace mlc::codegen {

// The layout of lanes in a local array: narrow types are packed into 32-bit words if they fill
// them.
struct LaneArray {
  std::string_view type;
  int count = 1;  // array elements in all
  bool words = false;

  static LaneArray Of(DType dtype, int lanes);
};

// A vector access to memory, cut into pieces.
struct Pieces {
  std::string name;  // of the buffer
  DType dtype = DType::kF32;
  Access access = Access::kLoad;
  Text index;
  int lanes = 1;        // of the whole vector
  int piece_lanes = 1;  // 1: element by element
  int64_t stride = 1;
  Text mask;  // empty: all lanes
  bool mask_cuts_pieces = false;
  bool packed() const { return piece_lanes > 1; }
};

class VectorMemory {
 public:
  VectorMemory(PhaseScope& scope, PhaseText& text, ScalarPrinter& scalars)
      : scope_(scope), text_(text), scalars_(scalars) {}

  Pieces Cut(ir::BufferId buffer, const ir::ExprRef& index, int lanes, int64_t stride,
             const ir::ExprRef& mask, Access access);
  // Moves lanes between memory and the local array.
  void Move(const Pieces& pieces, const std::string& array, const LaneArray& form);

 private:
  void MoveElements(const Pieces& pieces, const std::string& array, const LaneArray& form,
                    bool masked);
  std::string PieceText(const Pieces& pieces, const std::string& array, const LaneArray& form,
                        int piece);

  PhaseScope& scope_;
  PhaseText& text_;
  ScalarPrinter& scalars_;
};

}  // namespace mlc::codegen
