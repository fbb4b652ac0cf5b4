#include "worker/device/device_description.h"

namespace mlc::worker {

void Put(ByteWriter& out, const DeviceDescription& description) {
  out.PutText(description.target);
  out.PutText(description.kind);
  out.Put(description.devices);
  out.Put(description.memory_bytes);
  out.PutText(description.llvm);
  out.PutText(description.nvrtc);
  out.PutText(description.driver);
  out.Put<uint64_t>(description.precisions.size());
  for (const std::string& precision : description.precisions) out.PutText(precision);
  out.Put(description.user_kernels);
  out.Put(description.tells_use);
}

DeviceDescription GetDeviceDescription(ByteReader& in) {
  DeviceDescription description;
  description.target = in.GetText();
  description.kind = in.GetText();
  description.devices = in.Get<int>();
  description.memory_bytes = in.Get<int64_t>();
  description.llvm = in.GetText();
  description.nvrtc = in.GetText();
  description.driver = in.GetText();
  description.precisions.resize(in.GetCount(ByteReader::kLeastText));
  for (std::string& precision : description.precisions) precision = in.GetText();
  description.user_kernels = in.Get<bool>();
  description.tells_use = in.Get<bool>();
  return description;
}

}  // namespace mlc::worker
