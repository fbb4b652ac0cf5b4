#include "client/model/npy.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "base/rng.h"

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

Result<graph::TensorDataRef> Parse(std::string bytes) {
  const auto owner = std::make_shared<const std::string>(std::move(bytes));
  return ParseNpy(*owner, owner);
}

const std::string kFloats = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n";

TEST(Npy, ReadsADenseArray) {
  std::string data(24, '\0');
  data[0] = 7;
  const auto tensor = Parse(Npy(kFloats, data));
  ASSERT_TRUE(tensor.ok()) << tensor.status().message();
  EXPECT_EQ((*tensor)->dtype, DType::kF32);
  EXPECT_EQ((*tensor)->dims, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ((*tensor)->bytes.size(), 24u);
  EXPECT_EQ((*tensor)->bytes[0], std::byte{7});
}

TEST(Npy, ReadsScalarsAndRowsOfOne) {
  const auto scalar =
      Parse(Npy("{'descr': '<i8', 'fortran_order': False, 'shape': (), }", std::string(8, '\1')));
  ASSERT_TRUE(scalar.ok()) << scalar.status().message();
  EXPECT_TRUE((*scalar)->dims.empty());
  const auto row =
      Parse(Npy("{'descr': '|b1', 'fortran_order': False, 'shape': (5,), }", "\1\1\1\1\1"));
  ASSERT_TRUE(row.ok()) << row.status().message();
  EXPECT_EQ((*row)->dims, std::vector<int64_t>{5});
}

// Such as a cache before the first step.
TEST(Npy, ReadsArraysWithoutElements) {
  for (const std::string shape : {"(1, 8, 0, 64)", "(0, 1099511627776, 1099511627776)"}) {
    const auto empty =
        Parse(Npy("{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + ", }", ""));
    ASSERT_TRUE(empty.ok()) << empty.status().message();
    EXPECT_TRUE((*empty)->bytes.empty());
  }
}

TEST(Npy, BadFilesAreExplained) {
  const auto error = [](const std::string& bytes) { return Parse(bytes).status(); };
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

// An offset outside the file: reading there would end the program.
TEST(Npy, NothingButTheHeaderIsRead) {
  const auto refused = [](const std::string& shape, size_t data_bytes) {
    const std::string file =
        Npy("{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + "}", "");
    return ParseNpy({file.data(), file.size() + data_bytes}, nullptr);
  };
  constexpr size_t kTebi = size_t{1} << 40;
  EXPECT_EQ(refused("(1099511627776, 1099511627776)", 8 * kTebi).status(),
            InvalidArgument("the data are shorter than the shape"));
  const auto taken = refused("(1099511627776, 2)", 8 * kTebi);
  ASSERT_TRUE(taken.ok()) << taken.status().message();
  EXPECT_EQ((*taken)->bytes.size(), 8 * kTebi);
  const std::string long_header("\x93NUMPY\x02\x00\xff\xff\xff\xff", 12);
  EXPECT_EQ(ParseNpy({long_header.data(), kTebi}, nullptr).status(),
            InvalidArgument("the header is too long"));
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
    const auto tensor = Parse(bytes);
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
