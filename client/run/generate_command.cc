#include "client/run/generate_command.h"

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "base/process/arguments.h"
#include "client/run/decoder.h"
#include "client/run/generate.h"

namespace mlc::client {

namespace {

// The validators of the library say "in range 0.000000 to 179769...".
CLI::Validator AtLeast(int64_t least, const std::string& name) {
  return CLI::Validator(
      [least](const std::string& text) {
        return std::strtoll(text.c_str(), nullptr, 10) >= least
                   ? std::string()
                   : "is to be a whole number, " + std::to_string(least) + " or more";
      },
      name);
}

}  // namespace

void AddGenerateFlags(CLI::App& app, GenerateOptions& options) {
  const CLI::Validator not_negative = AtLeast(0, "NONNEGATIVE");
  const CLI::Validator temperature(
      [](const std::string& text) {
        const double value = std::strtod(text.c_str(), nullptr);
        return value >= 0 && std::isfinite(value) ? "" : "is to be a number, 0 or more";
      },
      "");
  const CLI::Validator share(
      [](const std::string& text) {
        const double value = std::strtod(text.c_str(), nullptr);
        return value > 0 && value <= 1 ? "" : "is to be more than 0 and at most 1";
      },
      "");
  transport::BeginGroup(app, "Decoders of language models");
  CLI::Option* generate =
      app.add_option("--generate", options.tokens, "continue --prompt by at most so many tokens")
          ->check(AtLeast(1, "POSITIVE"));
  CLI::Option* prompt = app.add_option("--prompt", options.prompt,
                                       "ids of the tokens to begin with, divided by commas")
                            ->needs(generate);
  generate->needs(prompt);
  for (const char* other : {"--inputs", "--outputs", "--check", "--bench", "--profile", "--html",
                            "--reference", "--dim"}) {
    generate->excludes(app.get_option(other));
  }
  app.add_option("--end-token", options.end_token, "id of the token that ends the sequence")
      ->check(not_negative)
      ->needs(generate);
  app.add_option("--temperature", options.temperature,
                 "divides the logits before a token is drawn; 0 takes the most likely one; "
                 "default: 0, with --top-k or --top-p 1")
      ->check(temperature)
      ->needs(generate);
  app.add_option("--top-k", options.top_k, "draw from so many of the most likely; 0 means all")
      ->check(not_negative)
      ->needs(generate);
  app.add_option("--top-p", options.top_p,
                 "draw from the fewest that together have this probability")
      ->check(share)
      ->needs(generate);
  app.add_option("--warmup", options.warmups,
                 "read the prompt so many times before the time is taken; the first time reads "
                 "weights from the disk")
      ->check(CLI::Range(0, 1000))
      ->needs(generate);
}

Status RunGenerate(ModelLibrary& library, const GenerateOptions& options, uint64_t seed,
                   bool json) {
  GenerateTerms terms;
  terms.prompt = MLC_TRY(ParseTokens(options.prompt));
  terms.tokens = options.tokens;
  if (options.end_token >= 0) terms.end_token = options.end_token;
  terms.warmups = options.warmups;
  const bool draws = options.top_k > 0 || options.top_p < 1;
  terms.sampling = {options.temperature.value_or(draws ? 1 : 0), options.top_k, options.top_p,
                    seed};
  const std::unique_ptr<Decoder> decoder = MLC_TRY(Decoder::Open(library));
  const char* between = "";
  const auto show = [&](int64_t token) {
    std::printf("%s%lld", between, static_cast<long long>(token));
    std::fflush(stdout);
    between = " ";
  };
  const Result<Generated> generated =
      Generate(*decoder, terms, json ? std::function<void(int64_t)>() : show);
  if (!json && *between != 0) std::printf("\n");
  MLC_TRY(generated);
  const std::string text = json ? ToJson(*generated, terms) : ToText(*generated);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return {};
}

}  // namespace mlc::client
