// The main of golden tests: MLC_UPDATE_GOLDEN=1 accepts what the tests produce; MLC_KERNEL_TEXTS is
// a folder for the texts of all kernels of the replay manifest.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string_view>

#include "tests/golden/golden.h"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const char* update = std::getenv("MLC_UPDATE_GOLDEN");
  mlc::golden::SetUpdate(update != nullptr && std::string_view(update) == "1");
  const char* texts = std::getenv("MLC_KERNEL_TEXTS");
  if (texts != nullptr) mlc::golden::SetTextFolder(texts);
  return RUN_ALL_TESTS();
}
