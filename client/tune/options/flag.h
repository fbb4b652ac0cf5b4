// A row of the table of mlc-tune's flags (tune_flags.h). Values, known at compile time.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace mlc::client {

// The groups of --help, in its order.
enum class FlagGroup : uint8_t { kCommon, kModel, kSearch, kOutput, kServer, kGpu, kKernel };

// The printed commands that repeat the flag if it was given.
enum class Repeats : uint8_t {
  kNo,
  kAgain,    // the command that continues the job
  kCompile,  // also mlc-compile for the same tasks
};

struct FlagInfo {
  const char* name;  // as CLI11 takes it: "-q,--quiet"
  FlagGroup group;
  const char* help;
  Repeats repeats = Repeats::kNo;
  const char* sent = nullptr;  // the field of proto::JobOptions that has the value
  // Inclusive range of a number; no limit if both are equal.
  int64_t least = 0;
  int64_t most = 0;
  std::span<const char* const> choices = {};  // values of a text; empty: any
  bool is_duration = false;                   // "10m" for milliseconds
  const char* excludes = nullptr;             // a flag that contradicts it
  uint32_t verbs = 0;                         // VerbBit of the subcommands that also have it
};

template <typename Verb>
constexpr uint32_t VerbBit(Verb verb) {
  return uint32_t{1} << static_cast<uint32_t>(verb);
}

template <typename Options, typename T>
struct Flag {
  constexpr Flag(T Options::*of, const char* name, FlagGroup group, const char* help)
      : member(of), info{name, group, help} {}
  constexpr Flag Repeated(Repeats repeats) const {
    return With([&](FlagInfo& to) { to.repeats = repeats; });
  }
  constexpr Flag Sent(const char* field) const {
    return With([&](FlagInfo& to) { to.sent = field; });
  }
  constexpr Flag In(int64_t least, int64_t most) const {
    return With([&](FlagInfo& to) { to.least = least, to.most = most; });
  }
  constexpr Flag OneOf(std::span<const char* const> choices) const {
    return With([&](FlagInfo& to) { to.choices = choices; });
  }
  constexpr Flag Duration() const {
    return With([](FlagInfo& to) { to.is_duration = true; });
  }
  constexpr Flag Excludes(const char* flag) const {
    return With([&](FlagInfo& to) { to.excludes = flag; });
  }
  template <typename... Verbs>
  constexpr Flag AlsoOf(Verbs... verbs) const {
    return With([&](FlagInfo& to) { to.verbs = (0 | ... | VerbBit(verbs)); });
  }

  T Options::*member;
  FlagInfo info;

 private:
  template <typename Change>
  constexpr Flag With(const Change& change) const {
    Flag changed = *this;
    change(changed.info);
    return changed;
  }
};

// Its long name: "--quiet".
inline std::string LongName(const FlagInfo& info) {
  const std::string names(info.name);
  return names.substr(names.rfind(',') + 1);
}

}  // namespace mlc::client
