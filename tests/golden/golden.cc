#include "tests/golden/golden.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

namespace mlc::golden {

namespace {

bool g_update = false;
std::string g_text_folder;

// Both paths are the build's own, made of letters, digits and slashes.
std::string UnifiedDiff(const std::string& expected, const std::string& actual) {
  FILE* pipe = popen(("diff -u '" + expected + "' '" + actual + "' | head -n 80").c_str(), "r");
  if (pipe == nullptr) return "diff does not run\n";
  std::string text;
  std::array<char, 4096> buffer;
  for (size_t n = 0; (n = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) {
    text.append(buffer.data(), n);
  }
  pclose(pipe);
  return text;
}

}  // namespace

void SetUpdate(bool update) { g_update = update; }

void SetTextFolder(std::string folder) { g_text_folder = std::move(folder); }

const std::string& TextFolder() { return g_text_folder; }

void Write(const std::string& path, std::string_view text) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

std::string Read(const std::string& path) {
  std::ifstream in(std::string(MLC_SOURCE_DIR) + "/" + path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

void Check(const std::string& path, std::string_view text, std::string_view hint) {
  const std::string expected = std::string(MLC_SOURCE_DIR) + "/" + path;
  if (g_update) {
    if (Read(path) != text) Write(expected, text);
    return;
  }
  const std::string actual = std::string(MLC_BINARY_DIR) + "/golden/" + path;
  const bool exists = std::filesystem::exists(expected);
  if (exists && Read(path) == text) return;
  Write(actual, text);
  ADD_FAILURE() << path << (exists ? " differs:\n" : " does not exist:\n")
                << UnifiedDiff(exists ? expected : "/dev/null", actual) << hint
                << "\nIf the new text is right: MLC_UPDATE_GOLDEN=1 ctest --test-dir "
                << MLC_BINARY_DIR << " -L golden\n";
}

}  // namespace mlc::golden
