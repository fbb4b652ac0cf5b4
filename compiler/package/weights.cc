#include "compiler/package/weights.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/digest.h"

namespace mlc::package {

namespace {

constexpr int64_t kAlignment = 64;

int64_t Aligned(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

Status CannotWrite(const std::string& path) {
  return Unwritable("cannot write '" + path + "': " + std::strerror(errno));
}

// Identifies a prepared constant by what it is made from: equal keys are stored once.
std::string KeyOf(const graph::Step& step, const schedule::Preparation& preparation) {
  std::string key = preparation.kernel.ToText();
  for (const int operand : preparation.operands) {
    const graph::Placement& place = step.operands[static_cast<size_t>(operand)];
    key += "@" + std::to_string(place.index) + "+" + std::to_string(place.byte_offset);
  }
  return key;
}

Status WriteAt(int fd, const std::byte* data, size_t size, int64_t offset,
               const std::string& path) {
  while (size > 0) {
    const ssize_t written = pwrite(fd, data, size, offset);
    if (written < 0) return CannotWrite(path);
    data += written;
    size -= static_cast<size_t>(written);
    offset += written;
  }
  return {};
}

class WeightsPlanner {
 public:
  explicit WeightsPlanner(const graph::Program& program) : program_(program) {
    plan_.bytes = kAlignment;
  }

  // All that the steps' kernels read, where there is one.
  void Add(std::span<const schedule::LoweredKernel* const> kernels, bool substitutes) {
    for (size_t s = 0; s < program_.steps.size(); ++s) {
      const graph::Step& step = program_.steps[s];
      const schedule::LoweredKernel* kernel = kernels[static_cast<size_t>(step.task)];
      if (kernel == nullptr) continue;
      for (const schedule::Binding& binding : kernel->bindings) {
        if (binding.kind == schedule::Binding::Kind::kPrepared) {
          AddPrepared(static_cast<int>(s), *kernel, binding.index, substitutes);
        } else if (binding.kind == schedule::Binding::Kind::kOperand) {
          AddRaw(step.operands[static_cast<size_t>(binding.index)]);
        }
      }
    }
    if (!substitutes) plan_.own_bytes = plan_.bytes;
  }

  WeightsPlan Take() { return std::move(plan_); }

 private:
  void AddPrepared(int s, const schedule::LoweredKernel& kernel, int index, bool substitute) {
    const graph::Step& step = program_.steps[static_cast<size_t>(s)];
    const schedule::Preparation& p = kernel.preparations[static_cast<size_t>(index)];
    const auto [entry, is_new] = known_.try_emplace(mlc::DigestOf(KeyOf(step, p)), plan_.bytes);
    plan_.prepared_offset[{s, substitute, index}] = entry->second;
    if (!is_new) return;
    const int64_t bytes = p.elements * SizeOf(p.dtype);
    plan_.prepared.push_back({s, substitute, index, plan_.bytes, bytes});
    plan_.bytes += Aligned(bytes);
  }

  void AddRaw(const graph::Placement& place) {
    if (place.kind != graph::Placement::Kind::kConstant) return;
    const auto [entry, is_new] = plan_.raw_offset.try_emplace(place.index, plan_.bytes);
    if (!is_new) return;
    plan_.raw.push_back({place.index, plan_.bytes});
    const auto& data = program_.constants[static_cast<size_t>(place.index)];
    plan_.bytes += Aligned(static_cast<int64_t>(data->bytes.size()));
  }

  const graph::Program& program_;
  WeightsPlan plan_;
  std::map<Digest, int64_t> known_;
};

}  // namespace

WeightsPlan PlanWeights(const graph::Program& program,
                        std::span<const schedule::LoweredKernel* const> lowered,
                        std::span<const schedule::LoweredKernel* const> substitutes) {
  WeightsPlanner planner(program);
  planner.Add(lowered, /*substitutes=*/false);
  planner.Add(substitutes, /*substitutes=*/true);
  return planner.Take();
}

Status WriteRawWeights(const graph::Program& program, const WeightsPlan& plan,
                       const std::string& path) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return CannotWrite(path);
  Status status;
  if (ftruncate(fd, plan.bytes) != 0) status = CannotWrite(path);
  for (const WeightsPlan::Raw& raw : plan.raw) {
    if (!status.ok()) break;
    const auto& data = program.constants[static_cast<size_t>(raw.constant)];
    status = WriteAt(fd, data->bytes.data(), data->bytes.size(), raw.offset, path);
  }
  if (close(fd) != 0 && status.ok()) status = CannotWrite(path);
  return status;
}

Result<uint64_t> SealWeights(const std::string& path) {
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return CannotWrite(path);
  struct stat info;
  void* mapping = MAP_FAILED;
  if (fstat(fd, &info) == 0) {
    mapping = mmap(nullptr, static_cast<size_t>(info.st_size), PROT_READ, MAP_SHARED, fd, 0);
  }
  if (mapping == MAP_FAILED) {
    close(fd);
    return CannotWrite(path);
  }
  const auto* bytes = static_cast<const std::byte*>(mapping);
  const uint64_t check =
      mlc::DigestOf(std::span(bytes, static_cast<size_t>(info.st_size)).subspan(sizeof(uint64_t)))
          .low;
  munmap(mapping, static_cast<size_t>(info.st_size));
  const Status status =
      WriteAt(fd, reinterpret_cast<const std::byte*>(&check), sizeof(check), 0, path);
  close(fd);
  if (!status.ok()) return status;
  return check;
}

}  // namespace mlc::package
