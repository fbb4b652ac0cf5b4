// Mbarriers and the copies that arrive at them on a real device: the small products that the tests
// of the interpreter run, too, with exact results. Skips where there is no device that has the
// statements, or no compiler.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "compiler/build/nvrtc.h"
#include "compiler/codegen/cuda/cuda.h"
#include "compiler/codegen/cuda/driver_launch.h"
#include "compiler/ir/ir.h"
#include "tests/unit/ir/async_products.h"
#include "tests/unit/ir/gpu_run.h"
#include "worker/device/cuda/device.h"
#include "worker/device/fleet/gpu_devices.h"

namespace mlc::worker {
namespace {

using ir::AsyncProduct;
using ir::Param;

class GpuStatements : public ::testing::Test {
 protected:
  void SetUp() override {
    // Once: a process that has begun to use the driver can look for devices no more, as it does so
    // in a child.
    static const Result<std::vector<GpuDevice>> gpus = FindGpus();
    if (!gpus.ok()) GTEST_SKIP() << "no CUDA device: " << gpus.status().message();
    target_ = gpus->front().target;
    if (!target_.gpu().HasWarpgroupMma()) {
      GTEST_SKIP() << target_.gpu().CudaArch() << " has no warpgroup_mma";
    }
    Result<std::unique_ptr<build::Nvrtc>> nvrtc = build::Nvrtc::Open(MLC_SOURCE_DIR "/build/cuda");
    if (!nvrtc.ok()) GTEST_SKIP() << nvrtc.status().message();
    nvrtc_ = *std::move(nvrtc);
    Result<std::unique_ptr<Device>> device = Device::Open(0);
    ASSERT_TRUE(device.ok()) << device.status().ToString();
    device_ = *std::move(device);
  }

  // One run of a kernel of three parameters; `c` gets the third.
  Status Run(const std::string& text, Param& a, Param& b, Param& c) {
    const ir::Kernel kernel = MLC_TRY(ir::Kernel::Parse(text));
    const codegen::CudaSource source = MLC_TRY(codegen::PrintCuda(kernel, target_));
    const build::CudaBinary binary =
        MLC_TRY(nvrtc_->Compile(source.text, target_.gpu().CudaArch()));
    const std::unique_ptr<DeviceCode> code = MLC_TRY(DeviceCode::Load(*device_, binary.image));
    std::vector<DeviceMemory> memory;
    for (Param* param : {&a, &b, &c}) {
      const auto bytes = static_cast<int64_t>(param->bytes().size());
      memory.push_back(MLC_TRY(DeviceMemory::Allocate(*device_, bytes)));
      MLC_TRY(device_->Upload(memory.back().address(), param->bytes().data(), bytes));
    }
    for (const int64_t bytes : {source.workspace_bytes, source.counter_bytes}) {
      memory.push_back(MLC_TRY(DeviceMemory::Allocate(*device_, bytes)));
    }
    std::vector<mlc_cu_ptr> addresses;
    for (const DeviceMemory& each : memory) addresses.push_back(each.address());
    std::vector<mlc_cu_tensor_map> maps;
    for (const mlc_tensor_map& map : source.tensor_maps) {
      MLC_TRY(device_->Check(mlc_cuda_encode_tensor_map(&device_->cuda(), &map, addresses.data(),
                                                        &maps.emplace_back()),
                             "encoding a tensor map"));
    }
    MLC_TRY(Launch(source.launches.front(), *code, addresses, maps));
    MLC_TRY(device_->Synchronize("the kernel"));
    return device_->Download(c.bytes().data(), addresses[2],
                             static_cast<int64_t>(c.bytes().size()));
  }

  Status Launch(const codegen::CudaLaunch& launch, DeviceCode& code,
                std::vector<mlc_cu_ptr>& addresses, std::vector<mlc_cu_tensor_map>& maps) {
    const mlc_cu_function function = MLC_TRY(code.Function(launch.function, launch.block_bytes));
    std::vector<void*> parameters;
    for (mlc_cu_ptr& address : addresses) parameters.push_back(&address);
    for (mlc_cu_tensor_map& map : maps) parameters.push_back(&map);
    return device_->Check(
        mlc_cuda_launch(&device_->cuda(), function, codegen::ForDriver(launch.grid),
                        codegen::ForDriver(launch.block), static_cast<uint32_t>(launch.block_bytes),
                        device_->stream(), parameters.data(), 0),
        "launch of " + launch.function);
  }

  target::Target target_;
  std::unique_ptr<build::Nvrtc> nvrtc_;
  std::unique_ptr<Device> device_;
};

TEST_F(GpuStatements, CopiesBringWhatTheInterpreterSays) {
  for (const AsyncProduct& product : ir::AsyncProducts()) {
    SCOPED_TRACE(product.name);
    Param a(product.dtype, product.Rows()), b(product.of_columns(), product.Columns());
    const std::vector<double> results = product.Results();
    Param c(DType::kF32, results.size());
    const Status status = Run(product.Text(), a, b, c);
    ASSERT_TRUE(status.ok()) << status.ToString();
    size_t wrong = 0;
    for (size_t i = 0; i < results.size(); ++i) {
      if (c[i] == results[i]) continue;
      if (++wrong == 1) ADD_FAILURE() << "[" << i << "] " << c[i] << ", not " << results[i];
    }
    printf("%-20s %zu of %zu results differ\n", product.name, wrong, results.size());
  }
}

// The last test of this program: what traps takes the context with it.
TEST_F(GpuStatements, WaitWithoutAnArrivalTraps) {
  const AsyncProduct product{.name = "stuck"};
  std::string text = product.Text();
  const std::string arrival = "if equal(mod(t, 32), 0) { mbarrier_arrive empty[s] }";
  const size_t at = text.find(arrival);
  ASSERT_NE(at, std::string::npos);
  text.erase(at, arrival.size());
  Param a(product.dtype, product.Rows()), b(product.of_columns(), product.Columns());
  Param c(DType::kF32, product.Results().size());
  const Status status = Run(text, a, b, c);
  EXPECT_EQ(status.code(), StatusCode::kAborted) << status.ToString();
}

}  // namespace
}  // namespace mlc::worker
