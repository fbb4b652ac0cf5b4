#include "base/exit_code.h"

namespace mlc {

ExitCode ExitCodeOf(const Status& status) {
  switch (status.code()) {
    case StatusCode::kOk:
      return ExitCode::kOk;
    case StatusCode::kCancelled:
      return ExitCode::kInterrupted;
    case StatusCode::kInvalidArgument:
    case StatusCode::kUnimplemented:
    case StatusCode::kOutOfRange:
      return ExitCode::kBadInput;
    case StatusCode::kNotFound:
      return ExitCode::kNoResult;
    case StatusCode::kPermissionDenied:
    case StatusCode::kUnauthenticated:
      return ExitCode::kPermission;
    case StatusCode::kFailedPrecondition:
      return ExitCode::kVersion;
    case StatusCode::kDeadlineExceeded:
    case StatusCode::kAborted:
    case StatusCode::kResourceExhausted:
      return ExitCode::kTemporary;
    case StatusCode::kUnavailable:
      return ExitCode::kUnavailable;
    case StatusCode::kDataLoss:
      return ExitCode::kStorage;
    case StatusCode::kUnwritable:
      return ExitCode::kCannotWrite;
    case StatusCode::kAlreadyExists:
    case StatusCode::kUnknown:
    case StatusCode::kInternal:
      return ExitCode::kInternal;
  }
  return ExitCode::kInternal;
}

}  // namespace mlc
