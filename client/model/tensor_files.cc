#include "client/model/tensor_files.h"

#include <cstring>
#include <filesystem>
#include <system_error>

#include "base/write_text.h"
#include "client/model/npy.h"
#include "compiler/graph/onnx/file.h"
#include "compiler/graph/onnx/import.h"

namespace mlc::client {

namespace {

namespace fs = std::filesystem;

void AppendVarint(std::string& bytes, uint64_t value) {
  while (value >= 0x80) {
    bytes.push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  bytes.push_back(static_cast<char>(value));
}

// Field numbers and wire types of onnx.TensorProto.
constexpr int kDims = 1, kDataType = 2, kName = 8, kRawData = 9;
constexpr int kVarint = 0, kBytes = 2;

void AppendTag(std::string& bytes, int field, int wire_type) {
  AppendVarint(bytes, static_cast<uint64_t>(field << 3 | wire_type));
}

void AppendBytes(std::string& bytes, int field, std::string_view value) {
  AppendTag(bytes, field, kBytes);
  AppendVarint(bytes, value.size());
  bytes.append(value);
}

}  // namespace

Result<graph::TensorDataRef> ReadTensor(const std::string& path) {
  if (!path.ends_with(".npy")) return graph::onnx::ReadTensorFile(path);
  const graph::onnx::MappedFileRef file = MLC_TRY(graph::onnx::OpenModelFile(path));
  Result<graph::TensorDataRef> tensor = ParseNpy(file->bytes(), file);
  if (!tensor.ok()) return tensor.status().WithPrefix("'" + path + "'");
  return tensor;
}

Result<std::vector<graph::TensorDataRef>> ReadTensors(const std::string& directory,
                                                      const std::string& prefix) {
  std::vector<graph::TensorDataRef> tensors;
  for (;;) {
    const std::string stem = directory + "/" + prefix + "_" + std::to_string(tensors.size());
    std::string path = stem + ".pb";
    std::error_code absent;
    if (!fs::exists(path, absent)) path = stem + ".npy";
    if (!fs::exists(path, absent)) break;
    tensors.push_back(MLC_TRY(ReadTensor(path)));
  }
  if (tensors.empty()) {
    return NotFound("no '" + prefix + "_0.pb' or '" + prefix + "_0.npy' in '" + directory + "'");
  }
  return tensors;
}

std::string TensorProtoBytes(const graph::TensorData& tensor, const std::string& name) {
  const auto [type, raw] = graph::onnx::StoredForm(tensor);
  std::string bytes;
  for (const int64_t dim : tensor.dims) {
    AppendTag(bytes, kDims, kVarint);
    AppendVarint(bytes, static_cast<uint64_t>(dim));
  }
  AppendTag(bytes, kDataType, kVarint);
  AppendVarint(bytes, static_cast<uint64_t>(type));
  AppendBytes(bytes, kName, name);
  AppendBytes(bytes, kRawData, raw);
  return bytes;
}

Status WriteTensors(const std::string& directory, const std::string& prefix,
                    const std::vector<graph::TensorDataRef>& tensors,
                    const std::vector<std::string>& names) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) {
    return Unwritable("cannot create '" + directory + "': " + error.message());
  }
  for (size_t i = 0; i < tensors.size(); ++i) {
    const std::string path = directory + "/" + prefix + "_" + std::to_string(i) + ".pb";
    MLC_TRY(WriteText(path, TensorProtoBytes(*tensors[i], names[i])));
  }
  return {};
}

}  // namespace mlc::client
