#include "compiler/types/dtype.h"

#include <array>
#include <string>

namespace mlc {

namespace {

struct Row {
  std::string_view name;
  int size;
  bool is_float;
};

constexpr std::array<Row, 10> kRows = {{{"f32", 4, true},
                                        {"f64", 8, true},
                                        {"f16", 2, true},
                                        {"bf16", 2, true},
                                        {"i8", 1, false},
                                        {"u8", 1, false},
                                        {"i16", 2, false},
                                        {"i32", 4, false},
                                        {"i64", 8, false},
                                        {"bool", 1, false}}};

}  // namespace

std::string_view ToText(DType dtype) { return kRows[static_cast<size_t>(dtype)].name; }

Result<DType> ParseDType(std::string_view text) {
  for (size_t i = 0; i < kRows.size(); ++i) {
    if (kRows[i].name == text) return static_cast<DType>(i);
  }
  return InvalidArgument("unknown element type '" + std::string(text) + "'");
}

int SizeOf(DType dtype) { return kRows[static_cast<size_t>(dtype)].size; }
bool IsFloat(DType dtype) { return kRows[static_cast<size_t>(dtype)].is_float; }

}  // namespace mlc
