// Converts plain values to bytes and back, for messages between processes of one worker (same
// machine, same program). The reader checks all bounds, because a child that ran generated code may
// send anything. Values.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

namespace mlc::worker {

class ByteWriter {
 public:
  template <typename T>
  void Put(T value) {
    static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T>);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  void PutText(std::string_view text) {
    Put<uint64_t>(text.size());
    bytes_.append(text);
  }
  std::string Take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

// After a read past the end every read gives zeros and ok() is false.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : bytes_(bytes) {}

  template <typename T>
  T Get() {
    static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T>);
    if constexpr (std::is_same_v<T, bool>) return Get<uint8_t>() != 0;  // any byte is no bool
    T value{};
    const std::string_view raw = Take(sizeof(T));
    if (ok_) std::memcpy(&value, raw.data(), sizeof(T));
    return value;
  }
  std::string GetText() { return std::string(Take(Get<uint64_t>())); }
  // Reads the number of items that take at least `least_bytes` each. A count that the rest of the
  // message cannot hold fails, so callers reserve no more memory than the message justifies.
  size_t GetCount(size_t least_bytes) {
    const auto count = Get<uint64_t>();
    if (count > bytes_.size() / least_bytes) ok_ = false;
    return ok_ ? static_cast<size_t>(count) : 0;
  }
  static constexpr size_t kLeastText = sizeof(uint64_t);
  bool ok() const { return ok_; }
  bool AtEnd() const { return ok_ && bytes_.empty(); }

 private:
  std::string_view Take(uint64_t count) {
    if (!ok_ || count > bytes_.size()) {
      ok_ = false;
      return {};
    }
    const std::string_view taken = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return taken;
  }

  std::string_view bytes_;
  bool ok_ = true;
};

}  // namespace mlc::worker
