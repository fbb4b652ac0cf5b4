#include "compiler/schedule/cuda/tensor/role_registers.h"

#include <algorithm>

namespace mlc::schedule {

namespace {

constexpr int kOtherRegisters = 36;
constexpr int kSmRegisters = 65536;

}  // namespace

int SumRegisters(const RolePlan& plan) {
  return plan.row_tiles() * plan.column_tiles() * (plan.apart ? 8 : 4) + kOtherRegisters;
}

int LaunchRegisters(const RolePlan& plan) {
  // Each quarter of a multiprocessor holds as many warps as the fullest one.
  const int quarter = (plan.threads() + 127) / 128 * 128;
  return std::min(255, kSmRegisters / quarter / 8 * 8);
}

RoleRegisters MovedRegisters(const RolePlan& plan) {
  return {plan.groups == 2 ? 224 : 152, plan.storers > 0 ? 56 : 40};
}

}  // namespace mlc::schedule
