// Tensors in folders of files: PREFIX_0.pb, PREFIX_1.npy ... as ONNX test data and NumPy write
// them. Files are ONNX TensorProto (.pb) or NumPy version 1 to 3 (.npy, C order, little-endian).
// Thread-safe (no shared state).
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/graph/graph.h"

namespace mlc::client {

// INVALID_ARGUMENT or NOT_FOUND with the path.
Result<graph::TensorDataRef> ReadTensor(const std::string& path);
// All tensors PREFIX_K.pb or PREFIX_K.npy, K from 0 without gaps; NOT_FOUND if there is none.
Result<std::vector<graph::TensorDataRef>> ReadTensors(const std::string& directory,
                                                      const std::string& prefix);

// The bytes of a TensorProto file.
std::string TensorProtoBytes(const graph::TensorData& tensor, const std::string& name);
// Writes DIRECTORY/PREFIX_K.pb, creating the directory. UNWRITABLE when that fails.
Status WriteTensors(const std::string& directory, const std::string& prefix,
                    const std::vector<graph::TensorDataRef>& tensors,
                    const std::vector<std::string>& names);

}  // namespace mlc::client
