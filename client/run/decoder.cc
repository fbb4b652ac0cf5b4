#include "client/run/decoder.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>

#include "client/model/aligned_buffer.h"
#include "compiler/graph/tensor_io.h"

namespace mlc::client {
namespace {

constexpr int64_t kMostElementBytes = 8;  // of whole numbers

Result<AlignedBuffer> Allocate(int64_t bytes) {
  AlignedBuffer buffer = AllocateAligned(bytes);
  if (buffer == nullptr) {
    return ResourceExhausted("no memory for " + std::to_string(bytes) + " bytes of the decoder");
  }
  return buffer;
}

enum class Role : uint8_t { kTokens, kPositions, kLastPosition, kTotal, kMask, kPast };

std::optional<Role> RoleOf(std::string_view name) {
  if (name == "input_ids") return Role::kTokens;
  if (name == "position_ids" || name == "cache_position") return Role::kPositions;
  if (name == "seqlens_k") return Role::kLastPosition;
  if (name == "total_sequence_length") return Role::kTotal;
  if (name == "attention_mask") return Role::kMask;
  if (name.starts_with("past")) return Role::kPast;
  return std::nullopt;
}

int64_t ElementsOf(const mlc_port& port) {
  return port.bytes / SizeOf(static_cast<DType>(port.dtype));
}

// The cache after the step, of the one before it.
std::string PresentName(std::string_view past) {
  constexpr std::string_view kLong = "past_key_values";
  const size_t prefix = past.starts_with(kLong) ? kLong.size() : std::string_view("past").size();
  return "present" + std::string(past.substr(prefix));
}

// Writes as whole numbers. REQUIRES: the type is one that Check lets through.
void WriteInt(const mlc_port& port, std::byte* bytes, int64_t index, int64_t value) {
  const auto put = [&](auto typed) {
    std::memcpy(bytes + static_cast<size_t>(index) * sizeof(typed), &typed, sizeof(typed));
  };
  switch (static_cast<DType>(port.dtype)) {
    case DType::kI64:
      return put(value);
    case DType::kI32:
      return put(static_cast<int32_t>(value));
    default:
      return put(static_cast<uint8_t>(value));
  }
}

Status CheckWhole(const mlc_port& port, Role role) {
  const auto type = static_cast<DType>(port.dtype);
  if (role == Role::kPast || type == DType::kI64 || type == DType::kI32) return {};
  if (role == Role::kMask && type == DType::kBool) return {};
  return InvalidArgument("the decoder's input '" + std::string(port.name) +
                         "' must be of type i64 or i32");
}

}  // namespace

// Buffers of the present step length: the caches stay, the others are made anew.
struct Decoder::Buffers {
  struct Cache {
    int64_t bytes = 0;
    AlignedBuffer before, after;  // change places at each step; null where the session keeps it
    int input = 0;                // which port
    bool kept = false;            // by the session, which updates it
  };
  struct Input {
    Role role = Role::kTokens;
    const mlc_port* port = nullptr;
    AlignedBuffer bytes;     // but of caches
    Cache* cache = nullptr;  // of a cache
  };
  struct Output {
    const mlc_port* port = nullptr;
    AlignedBuffer bytes;
    Cache* cache = nullptr;
  };
  std::map<std::string, Cache> caches;  // by the name of the input
  std::vector<Input> inputs;
  std::vector<Output> outputs;
  size_t logits = 0;  // which output
  std::map<int64_t, Dims> sizes;
  std::vector<float> scores;
};

Decoder::Decoder(ModelLibrary& library)
    : library_(library), buffers_(std::make_unique<Buffers>()) {}
Decoder::~Decoder() = default;

Result<std::unique_ptr<Decoder>> Decoder::Open(ModelLibrary& library) {
  std::unique_ptr<Decoder> decoder(new Decoder(library));
  MLC_TRY(decoder->FindLengths());
  MLC_TRY(decoder->SetLength(decoder->step_lengths_.front()));
  return decoder;
}

// Which axes of tokens and of caches have a length that a dimension gives.
Status Decoder::FindVaryingDims() {
  const std::vector<Dims> rows = library_.sizes();
  const auto axis_of = [&](Role role) {
    for (const mlc_port* port : library_.inputs()) {
      const int axis = role == Role::kTokens ? 1 : 2;
      if (RoleOf(port->name) == role && port->rank > axis) return port->dims[axis];
    }
    return int64_t{-1};
  };
  for (const LibraryDim& dim : library_.dims()) {
    Dims sizes = rows.front();
    sizes[dim.name] = dim.least;
    MLC_TRY(library_.SetSizes(sizes));
    const int64_t tokens = axis_of(Role::kTokens), past = axis_of(Role::kPast);
    sizes[dim.name] = dim.most;
    MLC_TRY(library_.SetSizes(sizes));
    if (axis_of(Role::kTokens) != tokens && dim.any_size) length_dim_ = dim.name;
    if (axis_of(Role::kPast) == past) continue;
    if (!dim.any_size || dim.least != 0) {
      return InvalidArgument(
          "the decoder's caches grow: compile it with every length from 0, as in --dim " +
          dim.name + "=0..511");
    }
    past_dim_ = dim.name;
    positions_ = dim.most;  // before the last step
  }
  return {};
}

Status Decoder::CheckTokens() {
  for (const mlc_port* port : library_.inputs()) {
    if (RoleOf(port->name) != Role::kTokens) continue;
    if (port->rank == 2 && port->dims[0] == 1) return {};
    return InvalidArgument(
        "the decoder's input 'input_ids' must be [1, tokens]: compile the model for one sequence");
  }
  return InvalidArgument("the model is no decoder: it has no input 'input_ids'");
}

Status Decoder::FindLengths() {
  MLC_TRY(CheckTokens());
  std::vector<Dims> rows = library_.sizes();
  const bool one_size = rows.empty();
  if (one_size) {
    rows.emplace_back();
  } else {
    MLC_TRY(FindVaryingDims());
  }
  for (const LibraryDim& dim : library_.dims()) {
    if (dim.name != length_dim_) continue;
    const Dims row = rows.front();
    rows.clear();
    for (int64_t length = dim.least; length <= dim.most; ++length) {
      rows.push_back(row);
      rows.back()[length_dim_] = length;
    }
  }
  for (Dims& row : rows) {
    if (!past_dim_.empty()) row[past_dim_] = 0;
    if (!one_size) MLC_TRY(library_.SetSizes(row));
    for (const mlc_port* port : library_.inputs()) {
      if (RoleOf(port->name) == Role::kTokens) buffers_->sizes.emplace(port->dims[1], row);
    }
  }
  for (const auto& [length, row] : buffers_->sizes) step_lengths_.push_back(length);
  if (!past_dim_.empty()) positions_ += step_lengths_.front();
  return {};
}

Status Decoder::FindInputs() {
  Buffers& b = *buffers_;
  b.inputs.clear();
  for (const mlc_port* port : library_.inputs()) {
    const std::optional<Role> role = RoleOf(port->name);
    if (!role) {
      return InvalidArgument("no value is known for the decoder's input '" +
                             std::string(port->name) + "'");
    }
    MLC_TRY(CheckWhole(*port, *role));
    Buffers::Input& input = b.inputs.emplace_back();
    input.role = *role;
    input.port = port;
    if (*role != Role::kPast) {
      // A mask grows with the cache.
      const int64_t grown = past_dim_.empty() ? 0 : positions_ * kMostElementBytes;
      input.bytes = MLC_TRY(Allocate(port->bytes + grown));
      continue;
    }
    Buffers::Cache& cache = b.caches[port->name];
    if (past_dim_.empty() && cache.bytes != 0 && cache.bytes != port->bytes) {
      return InvalidArgument("the cache '" + std::string(port->name) +
                             "' has another size for each number of tokens");
    }
    if (cache.bytes == 0) {
      cache.bytes = port->bytes;
      cache.input = static_cast<int>(b.inputs.size()) - 1;
    }
    input.cache = &cache;
    if (port->rank == 4 && past_dim_.empty()) positions_ = port->dims[2];
  }
  if (b.caches.empty()) positions_ = length_;
  return {};
}

// Of a cache after the longest step.
int64_t Decoder::MostBytesOf(const mlc_port& cache) const {
  if (past_dim_.empty() || cache.rank != 4 || cache.dims[2] < 1) return cache.bytes;
  return cache.bytes / cache.dims[2] * (positions_ + step_lengths_.back());
}

Status Decoder::FindOutputs() {
  Buffers& b = *buffers_;
  b.outputs.clear();
  std::map<std::string, Buffers::Cache*> presents;
  for (auto& [past, cache] : b.caches) presents[PresentName(past)] = &cache;
  vocabulary_ = 0;
  for (const mlc_port* port : library_.outputs()) {
    Buffers::Output& output = b.outputs.emplace_back();
    output.port = port;
    const auto present = presents.find(port->name);
    if (present == presents.end()) {
      output.bytes = MLC_TRY(Allocate(port->bytes));
      if (std::string_view(port->name) != "logits" || port->rank == 0) continue;
      b.logits = b.outputs.size() - 1;
      vocabulary_ = port->dims[port->rank - 1];
      continue;
    }
    if (past_dim_.empty() && port->bytes != present->second->bytes) {
      return InvalidArgument("the cache '" + std::string(port->name) +
                             "' grows with each step: compile the model with every length of the "
                             "cache from 0, as in --dim past=0..511 --dim sequence=1..64");
    }
    output.cache = present->second;
    Buffers::Cache& cache = *output.cache;
    cache.kept = library_.in_place_input(static_cast<int>(b.outputs.size()) - 1) == cache.input;
    if (!cache.kept && cache.before == nullptr) {
      const int64_t bytes = MostBytesOf(*port);
      cache.before = MLC_TRY(Allocate(bytes));
      cache.after = MLC_TRY(Allocate(bytes));
    }
    presents.erase(present);
  }
  if (!presents.empty()) {
    return InvalidArgument("the decoder has no output '" + presents.begin()->first + "'");
  }
  if (vocabulary_ > 0) return {};
  return InvalidArgument("the model is no decoder: it has no output 'logits'");
}

Status Decoder::SetLength(int64_t length) {
  if (length == length_ && past_dim_.empty()) return {};
  Dims row = buffers_->sizes.at(length);
  if (!past_dim_.empty()) row[past_dim_] = cached_;
  if (!row.empty()) MLC_TRY(library_.SetSizes(row));
  if (length == length_) return {};
  length_ = length;
  MLC_TRY(FindInputs());
  return FindOutputs();
}

void Decoder::FillInput(size_t index, std::span<const int64_t> tokens) {
  const Buffers::Input& input = buffers_->inputs[index];
  const int64_t end = cached_ + static_cast<int64_t>(tokens.size());
  const auto put = [&](int64_t at, int64_t value) {
    WriteInt(*input.port, input.bytes.get(), at, value);
  };
  const int64_t elements = ElementsOf(*input.port);
  switch (input.role) {
    case Role::kTokens:
      for (size_t i = 0; i < tokens.size(); ++i) put(static_cast<int64_t>(i), tokens[i]);
      break;
    case Role::kPositions:
      for (int64_t i = 0; i < elements; ++i) put(i, cached_ + i);
      break;
    case Role::kLastPosition:
      for (int64_t i = 0; i < elements; ++i) put(i, end - 1);
      break;
    case Role::kTotal:
      for (int64_t i = 0; i < elements; ++i) put(i, past_dim_.empty() ? positions_ : end);
      break;
    case Role::kMask:
      for (int64_t i = 0; i < elements; ++i) put(i, i < end ? 1 : 0);
      break;
    case Role::kPast:
      break;
  }
}

Result<std::span<const float>> Decoder::Step(std::span<const int64_t> tokens) {
  MLC_TRY(SetLength(static_cast<int64_t>(tokens.size())));
  Buffers& b = *buffers_;
  std::vector<const void*> inputs;
  std::vector<void*> outputs;
  for (size_t i = 0; i < b.inputs.size(); ++i) {
    FillInput(i, tokens);
    const Buffers::Input& input = b.inputs[i];
    inputs.push_back(input.cache != nullptr ? input.cache->before.get() : input.bytes.get());
  }
  for (const Buffers::Output& output : b.outputs) {
    if (output.cache == nullptr) {
      outputs.push_back(output.bytes.get());
    } else {
      outputs.push_back(output.cache->after.get());
    }
  }
  MLC_TRY(library_.RunOn(inputs, outputs));
  for (auto& [name, cache] : b.caches) {
    std::swap(cache.before, cache.after);
  }
  cached_ += static_cast<int64_t>(tokens.size());

  const Buffers::Output& logits = b.outputs[b.logits];
  const auto type = static_cast<DType>(logits.port->dtype);
  const int64_t bytes = vocabulary_ * SizeOf(type);
  const std::byte* last = logits.bytes.get() + logits.port->bytes - bytes;
  const auto row = graph::MakeTensorData(type, {vocabulary_}, {last, last + bytes});
  b.scores.resize(static_cast<size_t>(vocabulary_));
  std::ranges::transform(graph::ReadDoubles(*row), b.scores.begin(),
                         [](double value) { return static_cast<float>(value); });
  return std::span<const float>(b.scores);
}

}  // namespace mlc::client
