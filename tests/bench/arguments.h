// The words of a benchmark's command line, most of them key=value.
#pragma once

#include <string>
#include <vector>

namespace mlc::bench {

struct Argument {
  std::string word;
  std::string key;    // what stands before the first '=', or the whole word
  std::string value;  // what stands behind it
  bool has_value = false;
};

inline std::vector<Argument> Arguments(int argc, char** argv) {
  std::vector<Argument> arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const size_t equals = word.find('=');
    const bool has_value = equals != std::string::npos;
    arguments.push_back(
        {word, word.substr(0, equals), has_value ? word.substr(equals + 1) : "", has_value});
  }
  return arguments;
}

}  // namespace mlc::bench
