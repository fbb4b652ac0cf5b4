#include "base/contain.h"

#include <exception>
#include <new>

#include "base/check.h"

namespace mlc {
namespace {

struct Depth {
  Depth() { ++check_internal::ContainDepth(); }
  ~Depth() { --check_internal::ContainDepth(); }
  Depth(const Depth&) = delete;
  Depth& operator=(const Depth&) = delete;
};

}  // namespace

Status Contain(const std::function<Status()>& work) {
  try {
    const Depth depth;
    return work();
  } catch (const std::bad_alloc&) {
    return Internal("there is not enough memory");
  } catch (const std::exception& error) {
    return Internal(error.what());
  }
}

}  // namespace mlc
