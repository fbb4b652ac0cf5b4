#include "client/npy.h"

#include <gtest/gtest.h>

#include <string>

#include "compiler/base/rng.h"

namespace mlc::client {
namespace {

std::string Npy(const std::string& header, const std::string& data) {
  std::string bytes = "\x93NUMPY";
  bytes += '\x01';
  bytes += '\0';
  bytes += static_cast<char>(header.size() % 256);
  bytes += static_cast<char>(header.size() / 256);
  return bytes + header + data;
}

const std::string kFloats = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n";

TEST(Npy, ReadsADenseArray) {
  std::string data(24, '\0');
  data[0] = 7;
  const auto tensor = ParseNpy(Npy(kFloats, data));
  ASSERT_TRUE(tensor.ok()) << tensor.status().message();
  EXPECT_EQ((*tensor)->dtype, DType::kF32);
  EXPECT_EQ((*tensor)->dims, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ((*tensor)->bytes.size(), 24u);
  EXPECT_EQ((*tensor)->bytes[0], std::byte{7});
}

TEST(Npy, ReadsScalarsAndRowsOfOne) {
  const auto scalar = ParseNpy(
      Npy("{'descr': '<i8', 'fortran_order': False, 'shape': (), }", std::string(8, '\1')));
  ASSERT_TRUE(scalar.ok()) << scalar.status().message();
  EXPECT_TRUE((*scalar)->dims.empty());
  const auto row =
      ParseNpy(Npy("{'descr': '|b1', 'fortran_order': False, 'shape': (5,), }", "\1\1\1\1\1"));
  ASSERT_TRUE(row.ok()) << row.status().message();
  EXPECT_EQ((*row)->dims, std::vector<int64_t>{5});
}

TEST(Npy, BadFilesAreExplained) {
  const auto error = [](const std::string& bytes) { return ParseNpy(bytes).status(); };
  const std::string data(24, '\0');
  EXPECT_EQ(error(""), InvalidArgument("not a .npy file"));
  EXPECT_EQ(error("\x93NUMPY"), InvalidArgument("not a .npy file"));
  EXPECT_EQ(error(Npy(kFloats, "").substr(0, 40)), InvalidArgument("the header is cut short"));
  EXPECT_EQ(error(Npy(kFloats, data + "x")),
            InvalidArgument("the data do not have the size of the shape"));
  EXPECT_EQ(error(Npy(kFloats, data.substr(1))),
            InvalidArgument("the data do not have the size of the shape"));
  EXPECT_EQ(error(Npy("{'descr': '<c8', 'fortran_order': False, 'shape': (2, 3), }", data)),
            InvalidArgument("element type '<c8', is not supported"));
  EXPECT_EQ(error(Npy("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }", data)),
            InvalidArgument("arrays in Fortran order are not supported: save a C-ordered copy"));
  EXPECT_EQ(error(Npy("{'descr': '<f4', 'fortran_order': False, 'shape': 6, }", data)),
            InvalidArgument("the header has no shape"));
  EXPECT_EQ(error(Npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, x), }", data)),
            InvalidArgument("the header's shape is broken"));
  EXPECT_EQ(
      error(Npy("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999, 3), }", data)),
      InvalidArgument("a dimension is too large"));
}

TEST(Npy, DamagedFilesNeverCrash) {
  const std::string whole = Npy(kFloats, std::string(24, '\0'));
  for (uint64_t round = 0; round < 20000; ++round) {
    Rng rng(round);
    std::string bytes = whole;
    for (uint64_t edit = 0; edit <= rng.Below(4); ++edit) {
      bytes[rng.Below(bytes.size())] = static_cast<char>(rng.Below(256));
      if (rng.Below(4) == 0) bytes.resize(1 + rng.Below(bytes.size()));
    }
    const auto tensor = ParseNpy(bytes);
    if (!tensor.ok()) {
      ASSERT_FALSE(tensor.status().message().empty());
      continue;
    }
    int64_t elements = 1;
    for (const int64_t dim : (*tensor)->dims) elements *= dim;
    ASSERT_EQ(static_cast<size_t>(elements * SizeOf((*tensor)->dtype)), (*tensor)->bytes.size());
  }
}

}  // namespace
}  // namespace mlc::client
