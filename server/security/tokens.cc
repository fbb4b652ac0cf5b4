#include "server/security/tokens.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <charconv>
#include <chrono>
#include <limits>
#include <optional>
#include <sstream>

namespace mlc::server {
namespace {

constexpr size_t kDigestLength = 64;
constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

// "2027-01-31" as days since 1970.
std::optional<int64_t> ParseDay(const std::string& text) {
  int number[3] = {};
  const char* at = text.data();
  const char* const end = at + text.size();
  for (int i = 0; i < 3; ++i) {
    const auto [next, error] = std::from_chars(at, end, number[i]);
    const bool more = i < 2;
    if (error != std::errc() || (next == end) == more || (more && *next != '-')) {
      return std::nullopt;
    }
    at = next + 1;
  }
  const std::chrono::year_month_day day{std::chrono::year(number[0]),
                                        std::chrono::month(static_cast<unsigned>(number[1])),
                                        std::chrono::day(static_cast<unsigned>(number[2]))};
  if (!day.ok()) return std::nullopt;
  return std::chrono::sys_days(day).time_since_epoch().count();
}

}  // namespace

std::string TokenDigest(std::string_view token) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  EVP_Digest(token.data(), token.size(), digest, &size, EVP_sha256(), nullptr);
  std::string text;
  for (unsigned int i = 0; i < size; ++i) {
    text += "0123456789abcdef"[digest[i] >> 4];
    text += "0123456789abcdef"[digest[i] & 15];
  }
  return text;
}

Result<std::unique_ptr<Tokens>> Tokens::Open(const std::string& path) {
  std::unique_ptr<Tokens> tokens(new Tokens(path));
  MLC_TRY(tokens->Refresh(transport::Look::kNow));
  return tokens;
}

Result<Tokens::Entry> Tokens::ParseLine(const std::string& line) {
  std::istringstream words(line);
  Entry entry;
  std::string identity;
  std::string day;
  std::string rest;
  words >> entry.digest >> identity >> day >> rest;
  if (entry.digest.size() != kDigestLength ||
      entry.digest.find_first_not_of("0123456789abcdef") != std::string::npos) {
    return InvalidArgument("the SHA-256 digest of a token has 64 digits 0-9a-f");
  }
  entry.caller = MLC_TRY(ParseIdentity(identity));
  const std::optional<int64_t> last = day.empty() ? kNever : ParseDay(day);
  if (!last || !rest.empty()) {
    return InvalidArgument("after the identity comes a day as YYYY-MM-DD, or nothing");
  }
  entry.last_day = *last;
  return entry;
}

Result<std::vector<Tokens::Entry>> Tokens::Parse(const std::string& path, const std::string& text) {
  if (!text.ends_with('\n')) {
    return InvalidArgument("--tokens: the last line of " + path +
                           " has no end: is the file still being written?");
  }
  std::istringstream lines(text);
  std::vector<Entry> entries;
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    if (line.find_first_not_of(" \t\r") == std::string::npos || line[0] == '#') continue;
    Result<Entry> entry = ParseLine(line);
    if (!entry.ok()) {
      return entry.status().WithPrefix("--tokens: " + path + ":" + std::to_string(number));
    }
    entries.push_back(*std::move(entry));
  }
  return entries;
}

Result<Caller> Tokens::Find(std::string_view token, int64_t today) const {
  return FindDigest(TokenDigest(token), today);
}

Result<Caller> Tokens::FindDigest(std::string_view digest, int64_t today) const {
  if (digest.size() != kDigestLength) {
    return Status(StatusCode::kUnauthenticated, "the token is unknown, or was revoked");
  }
  const MutexLock lock(mutex_);
  const Entry* found = nullptr;
  for (const Entry& entry : entries_) {
    // Takes as long whichever digit differs.
    if (CRYPTO_memcmp(entry.digest.data(), digest.data(), kDigestLength) == 0) found = &entry;
  }
  if (found == nullptr) {
    return Status(StatusCode::kUnauthenticated, "the token is unknown, or was revoked");
  }
  if (today > found->last_day) {
    return Status(StatusCode::kUnauthenticated,
                  "the token of " + found->caller.ToText() + " has expired");
  }
  return found->caller;
}

Status Tokens::Refresh(transport::Look look) {
  const MutexLock file_lock(file_mutex_);
  return file_.Refresh(look, [this](const std::string& text) MLC_REQUIRES(file_mutex_) -> Status {
    std::vector<Entry> entries = MLC_TRY(Parse(file_.path(), text));
    const MutexLock lock(mutex_);
    entries_ = std::move(entries);
    return Status();
  });
}

int64_t Tokens::taken() const {
  const MutexLock lock(file_mutex_);
  return file_.taken();
}

size_t Tokens::size() const {
  const MutexLock lock(mutex_);
  return entries_.size();
}

}  // namespace mlc::server
