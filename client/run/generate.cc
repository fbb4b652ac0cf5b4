#include "client/run/generate.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>
#include <system_error>

#include "client/run/run_report.h"

namespace mlc::client {
namespace {

using Clock = std::chrono::steady_clock;

double MsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

Status CheckTerms(const Decoder& decoder, const GenerateTerms& terms) {
  if (terms.prompt.empty()) return InvalidArgument("--prompt: give one token at least");
  for (const int64_t token : terms.prompt) {
    if (token >= 0 && token < decoder.vocabulary()) continue;
    return InvalidArgument("--prompt: token " + std::to_string(token) +
                           " is outside of the vocabulary of " +
                           std::to_string(decoder.vocabulary()));
  }
  if (terms.end_token && *terms.end_token >= decoder.vocabulary()) {
    return InvalidArgument("--end-token: token " + std::to_string(*terms.end_token) +
                           " is outside of the vocabulary of " +
                           std::to_string(decoder.vocabulary()));
  }
  const auto prompt = static_cast<int64_t>(terms.prompt.size());
  // The last token is chosen, but not read.
  if (prompt > decoder.positions() || terms.tokens - 1 > decoder.positions() - prompt) {
    return InvalidArgument("a prompt of " + std::to_string(prompt) + " tokens and " +
                           std::to_string(terms.tokens) + " new ones are too many for a cache of " +
                           std::to_string(decoder.positions()) + " positions");
  }
  if (terms.tokens > 1 && decoder.step_lengths().front() != 1) {
    return InvalidArgument(
        "the library has no step of one token: compile the model with its "
        "number of tokens as 1, or with --dim NAME=1,32");
  }
  return {};
}

}  // namespace

Result<std::vector<int64_t>> ParseTokens(std::string_view text) {
  constexpr std::string_view kSpaces = " \t\r\n";
  constexpr std::string_view kBetween = ", \t\r\n";
  const auto skip_spaces = [&] {
    text.remove_prefix(std::min(text.size(), text.find_first_not_of(kSpaces)));
  };
  std::vector<int64_t> tokens;
  bool comma = false;  // a token is to follow
  for (skip_spaces(); !text.empty() || comma; skip_spaces()) {
    const std::string_view word = text.substr(0, text.find_first_of(kBetween));
    int64_t token = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), token);
    if (error != std::errc() || end != word.data() + word.size() || token < 0) {
      return InvalidArgument("'" + std::string(word.substr(0, 40)) +
                             "' is no token: give numbers, divided by commas");
    }
    tokens.push_back(token);
    text.remove_prefix(word.size());
    skip_spaces();
    comma = text.starts_with(',');
    if (comma) text.remove_prefix(1);
  }
  if (tokens.empty()) return InvalidArgument("give one token at least, as a number");
  return tokens;
}

Result<std::vector<int64_t>> PlanPrompt(int64_t tokens, const std::vector<int64_t>& step_lengths) {
  std::vector<int64_t> steps;
  for (int64_t rest = tokens; rest > 0; rest -= steps.back()) {
    const auto longer = std::upper_bound(step_lengths.begin(), step_lengths.end(), rest);
    if (longer == step_lengths.begin()) {
      std::string lengths;
      for (const int64_t length : step_lengths) {
        lengths += (lengths.empty() ? "" : ", ") + std::to_string(length);
      }
      return InvalidArgument("a prompt of " + std::to_string(tokens) +
                             " tokens is not made of steps of " + lengths +
                             ": compile the model for steps of one token, too");
    }
    steps.push_back(*std::prev(longer));
  }
  return steps;
}

// The logits after the last token.
Result<std::span<const float>> ReadPrompt(Decoder& decoder, std::span<const int64_t> prompt,
                                          std::span<const int64_t> steps) {
  decoder.Rewind(0);
  std::span<const float> logits;
  for (const int64_t step : steps) {
    logits = MLC_TRY(decoder.Step(prompt.first(static_cast<size_t>(step))));
    prompt = prompt.subspan(static_cast<size_t>(step));
  }
  return logits;
}

Result<Generated> Generate(Decoder& decoder, const GenerateTerms& terms,
                           const std::function<void(int64_t)>& on_token) {
  MLC_TRY(CheckTerms(decoder, terms));
  Generated result;
  result.prompt_tokens = static_cast<int64_t>(terms.prompt.size());
  const std::vector<int64_t> steps =
      MLC_TRY(PlanPrompt(result.prompt_tokens, decoder.step_lengths()));
  for (int i = 0; i < terms.warmups; ++i) MLC_TRY(ReadPrompt(decoder, terms.prompt, steps));
  Sampler sampler(terms.sampling);
  Clock::time_point start = Clock::now();
  std::span<const float> logits = MLC_TRY(ReadPrompt(decoder, terms.prompt, steps));
  result.prompt_ms = MsSince(start);
  while (true) {
    const int64_t token = MLC_TRY(sampler.Next(logits));
    if (!result.tokens.empty()) result.step_ms.push_back(MsSince(start));
    result.tokens.push_back(token);
    if (on_token) on_token(token);
    if (token == terms.end_token) break;
    if (static_cast<int64_t>(result.tokens.size()) >= terms.tokens) break;
    start = Clock::now();
    logits = MLC_TRY(decoder.Step(std::span(&token, 1)));
  }
  return result;
}

std::string ToText(const Generated& generated) {
  char line[200];
  std::snprintf(line, sizeof(line), "prompt: %lld tokens in %.1f ms, %.1f tokens/s\n",
                static_cast<long long>(generated.prompt_tokens), generated.prompt_ms,
                1e3 * static_cast<double>(generated.prompt_tokens) / generated.prompt_ms);
  std::string text = line;
  if (generated.step_ms.empty()) return text;
  const LatencyStatistics step = Summarize(generated.step_ms);
  std::snprintf(line, sizeof(line),
                "each new token: %.2f ms (p10 %.2f, p90 %.2f), %.1f tokens/s, %d steps\n",
                step.median, step.p10, step.p90, 1e3 / step.median, step.runs);
  return text + line;
}

std::string ToJson(const Generated& generated, const GenerateTerms& terms) {
  nlohmann::ordered_json json;
  json["schema"] = "mlc.generate/1";
  json["prompt"] = terms.prompt;
  json["tokens"] = generated.tokens;
  json["prompt_ms"] = generated.prompt_ms;
  if (!generated.step_ms.empty()) {
    const LatencyStatistics step = Summarize(generated.step_ms);
    json["step_ms"] = {
        {"median", step.median}, {"p10", step.p10}, {"p90", step.p90}, {"runs", step.runs}};
  }
  return json.dump(2) + "\n";
}

}  // namespace mlc::client
