#include "base/process/memory_failure.h"

#include <gtest/gtest.h>

namespace mlc::build {
namespace {

TEST(MemoryFailure, CompilersSayItInTheirWords) {
  for (const char* text : {
           "Catastrophic error: out of memory\n\n1 catastrophic error detected\n",
           "kernel.cu(1180): catastrophic error: out of memory\n  s=s*a[8246+threadIdx.x];\n    "
           "^\n",
           "ptxas fatal   : Memory allocation failure\n",
           "something before\nLLVM ERROR: out of memory\nAllocation failed\n",
           "terminate called after throwing an instance of 'std::bad_alloc'\n  what():  "
           "std::bad_alloc\n",
           "out of memory",
       }) {
    EXPECT_TRUE(ReportsOutOfMemory(text)) << text;
  }
}

TEST(MemoryFailure, WordsFromTheSourceDoNotCount) {
  for (const char* text : {
           "",
           "kernel.cu(3): error: identifier \"out_of_memory\" is undefined\n",
           "kernel.cu(1): catastrophic error: #error directive: catastrophic error: out of "
           "memory\n",
           "kernel.cu(1): error: static assertion failed with \"LLVM ERROR: out of memory\"\n",
           "kernel.cu(1): catastrophic error: could not open source file \"out of memory\"\n",
       }) {
    EXPECT_FALSE(ReportsOutOfMemory(text)) << text;
  }
}

}  // namespace
}  // namespace mlc::build
