// Status and Result<T>: how every function reports an error of the caller or the environment. Codes
// have gRPC's numeric values (google.rpc.Code), except kUnwritable. A config that a space rejects
// is not a Status (see compiler/schedule/space/space.h), and a bug is an MLC_CHECK. Values;
// thread-compatible.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace mlc {

enum class StatusCode : int {
  kOk = 0,
  kCancelled = 1,
  kUnknown = 2,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kAlreadyExists = 6,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kAborted = 10,
  kOutOfRange = 11,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
  kDataLoss = 15,
  kUnauthenticated = 16,
  // None of gRPC's: a program's output cannot be written. INTERNAL at a service boundary.
  kUnwritable = 17,
};
inline constexpr StatusCode kLastStatusCode = StatusCode::kUnwritable;

// The code's canonical name, for example "INVALID_ARGUMENT".
std::string_view ToText(StatusCode code);

class [[nodiscard]] Status {
 public:
  Status() = default;  // OK
  Status(StatusCode code, std::string message) : code_(code), message_(std::move(message)) {}

  bool ok() const { return code_ == StatusCode::kOk; }
  StatusCode code() const { return code_; }
  // What went wrong, why, and what to do, in one line.
  const std::string& message() const { return message_; }
  // "INVALID_ARGUMENT: the message", or "OK".
  std::string ToString() const;
  // The same code with "prefix: " before the message; OK stays OK.
  Status WithPrefix(std::string_view prefix) const;

  friend bool operator==(const Status&, const Status&) = default;

 private:
  StatusCode code_ = StatusCode::kOk;
  std::string message_;
};

Status InvalidArgument(std::string message);
Status NotFound(std::string message);
Status FailedPrecondition(std::string message);
Status Unwritable(std::string message);
Status Unimplemented(std::string message);
Status Unavailable(std::string message);
Status ResourceExhausted(std::string message);
Status DataLoss(std::string message);
Status Internal(std::string message);

// A value or the Status that explains its absence. value() REQUIRES ok().
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}
  Result(Status status) : status_(std::move(status)) {}

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }
  T& value() & { return *value_; }
  const T& value() const& { return *value_; }
  T value() && { return *std::move(value_); }
  T& operator*() & { return *value_; }
  const T& operator*() const& { return *value_; }
  T operator*() && { return *std::move(value_); }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }

 private:
  std::optional<T> value_;
  Status status_;
};

namespace status_internal {
inline const Status& StatusOf(const Status& status) { return status; }
template <typename T>
const Status& StatusOf(const Result<T>& result) {
  return result.status();
}
inline void ValueOf(const Status&) {}
template <typename T>
T ValueOf(Result<T>&& result) {
  return *std::move(result);
}
}  // namespace status_internal

}  // namespace mlc

// MLC_TRY(expr): the value of a Result (nothing for a Status), or an early return of its error.
#define MLC_TRY(expr)                                                                  \
  __extension__({                                                                      \
    auto mlc_try_result = (expr);                                                      \
    if (!mlc_try_result.ok()) return ::mlc::status_internal::StatusOf(mlc_try_result); \
    ::mlc::status_internal::ValueOf(std::move(mlc_try_result));                        \
  })
