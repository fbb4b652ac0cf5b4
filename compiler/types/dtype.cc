#include "compiler/types/dtype.h"

#include <array>
#include <string>

namespace mlc {

namespace {

enum class Kind : uint8_t { kFloat, kSigned, kUnsigned, kBool };

struct Row {
  std::string_view name;
  int bits;
  Kind kind;
  bool is_small = false;
};

constexpr std::array<Row, kDTypeCount> kRows = {{{"f32", 32, Kind::kFloat},
                                                 {"f64", 64, Kind::kFloat},
                                                 {"f16", 16, Kind::kFloat},
                                                 {"bf16", 16, Kind::kFloat},
                                                 {"i8", 8, Kind::kSigned},
                                                 {"u8", 8, Kind::kUnsigned},
                                                 {"i16", 16, Kind::kSigned},
                                                 {"i32", 32, Kind::kSigned},
                                                 {"i64", 64, Kind::kSigned},
                                                 {"bool", 8, Kind::kBool},
                                                 {"u16", 16, Kind::kUnsigned},
                                                 {"u32", 32, Kind::kUnsigned},
                                                 {"u64", 64, Kind::kUnsigned},
                                                 {"i4", 4, Kind::kSigned, true},
                                                 {"u4", 4, Kind::kUnsigned, true},
                                                 {"i2", 2, Kind::kSigned, true},
                                                 {"u2", 2, Kind::kUnsigned, true},
                                                 {"f8e4m3fn", 8, Kind::kFloat, true},
                                                 {"f8e4m3fnuz", 8, Kind::kFloat, true},
                                                 {"f8e5m2", 8, Kind::kFloat, true},
                                                 {"f8e5m2fnuz", 8, Kind::kFloat, true},
                                                 {"f8e8m0", 8, Kind::kFloat, true},
                                                 {"f4e2m1", 4, Kind::kFloat, true}}};

const Row& RowOf(DType dtype) { return kRows[static_cast<size_t>(dtype)]; }

}  // namespace

std::string_view ToText(DType dtype) { return RowOf(dtype).name; }

Result<DType> ParseDType(std::string_view text) {
  for (size_t i = 0; i < kRows.size(); ++i) {
    if (kRows[i].name == text) return static_cast<DType>(i);
  }
  return InvalidArgument("unknown element type '" + std::string(text) + "'");
}

int SizeOf(DType dtype) { return (RowOf(dtype).bits + 7) / 8; }
int BitsOf(DType dtype) { return RowOf(dtype).bits; }
bool IsFloat(DType dtype) { return RowOf(dtype).kind == Kind::kFloat; }
bool IsUnsigned(DType dtype) { return RowOf(dtype).kind == Kind::kUnsigned; }
bool IsSmall(DType dtype) { return RowOf(dtype).is_small; }
bool IsFloat8(DType dtype) { return dtype == DType::kF8E4M3Fn || dtype == DType::kF8E5M2; }

}  // namespace mlc
