#include "tests/workloads/cuda_subjects.h"

#include "base/check.h"
#include "base/digest.h"
#include "compiler/schedule/space/family.h"
#include "tests/workloads/aligned_contraction.h"
#include "tests/workloads/attention.h"
#include "tests/workloads/byte_contraction.h"
#include "tests/workloads/contraction.h"
#include "tests/workloads/data_movement.h"
#include "tests/workloads/draw.h"
#include "tests/workloads/few_rows.h"
#include "tests/workloads/pointwise.h"
#include "tests/workloads/pool.h"
#include "tests/workloads/row_reduce.h"

namespace mlc::schedule {
namespace {

constexpr int kWorkloads = 200;  // draws until one has a config that is wanted
constexpr int kConfigs = 1000;

struct F16 {
  static constexpr const char *dtype = "f16", *attributes = "";
};
struct BF16 {
  static constexpr const char *dtype = "bf16", *attributes = "";
};
struct Tf32 {
  static constexpr const char *dtype = "f32", *attributes = "precision=tf32";
};
struct F32 {
  static constexpr const char *dtype = "f32", *attributes = "";
};

template <auto kGenerate, typename T>
RandomWorkload Of(Rng& rng) {
  return {kGenerate(rng, T::dtype, T::attributes)};
}
template <typename T>
RandomWorkload Skinny(Rng& rng) {
  return {SkinnyProduct(rng, T::dtype)};
}
template <typename T>
RandomWorkload FewBits(Rng& rng) {
  return {FewBitsProduct(rng, T::dtype)};
}
template <typename T, bool kIsPacked>
RandomWorkload FewRows(Rng& rng) {
  return {FewRowsProduct(rng, T::dtype, kIsPacked)};
}
template <typename T>
RandomWorkload PackedFloat8(Rng& rng) {
  return {PackedFloat8Product(rng, T::dtype)};
}
template <typename T>
RandomWorkload FewRowsFloat8(Rng& rng) {
  return {FewRowsOfFloat8(rng, T::dtype)};
}
template <typename T>
RandomWorkload Float8(Rng& rng) {
  return {Float8Product(rng, T::dtype)};
}
template <typename T>
RandomWorkload Blocks(Rng& rng) {
  return {Float8Blocks(rng, T::dtype)};
}
template <auto kGenerate>
RandomWorkload Bytes(Rng& rng) {
  return {kGenerate(rng)};
}
RandomWorkload AnyBytes(Rng& rng) { return {RandomByteProduct(rng).ToText()}; }
RandomWorkload AnyContraction(Rng& rng) { return {RandomContraction(rng).ToText()}; }
RandomWorkload Depthwise(Rng& rng) { return {RandomDepthwise(rng).ToText()}; }

// No element of any type differs by so little.
constexpr double kExact = 1e-12;
constexpr double kF32 = 1e-5, kF16 = 2e-3, kBF16 = 2e-2, kTf32 = 3e-3;
constexpr const char *kTensor = "tensor_contraction", *kSimt = "simt_contraction",
                     *kSkinny = "skinny_contraction", *kFewBits = "few_bits_contraction",
                     *kWarpgroup = "warpgroup_contraction", *kRole = "role_contraction",
                     *kImage = "image_convolution", *kPointwise = "gpu_pointwise",
                     *kRows = "gpu_row_reduce", *kAttention = "gpu_attention",
                     *kRoleAttention = "role_attention";

constexpr CudaSubject kSubjects[] = {
    {"tensor_product_f16", kTensor, Of<AlignedProduct, F16>, kF16},
    {"tensor_product_bf16", kTensor, Of<AlignedProduct, BF16>, kBF16},
    {"tensor_product_tf32", kTensor, Of<AlignedProduct, Tf32>, kTf32},
    {"tensor_product_3xtf32", kTensor, Of<AlignedProduct, F32>, kF32},
    {"tensor_large_product_f16", kTensor, Of<LargeProduct, F16>, kF16},
    {"tensor_large_product_bf16", kTensor, Of<LargeProduct, BF16>, kBF16},
    {"tensor_large_product_tf32", kTensor, Of<LargeProduct, Tf32>, kTf32},
    {"tensor_large_product_3xtf32", kTensor, Of<LargeProduct, F32>, kF32},
    {"tensor_split_f16", kTensor, Of<AlignedProduct, F16>, kF16, "split", 2},
    {"tensor_split_bf16", kTensor, Of<AlignedProduct, BF16>, kBF16, "split", 2},
    {"tensor_split_tf32", kTensor, Of<AlignedProduct, Tf32>, kTf32, "split", 2},
    {"tensor_split_3xtf32", kTensor, Of<AlignedProduct, F32>, kF32, "split", 2},
    {"tensor_cluster_f16", kTensor, Of<AlignedProduct, F16>, kF16, "split", -2},
    {"tensor_cluster_bf16", kTensor, Of<AlignedProduct, BF16>, kBF16, "split", -2},
    {"tensor_cluster_tf32", kTensor, Of<AlignedProduct, Tf32>, kTf32, "split", -2},
    {"tensor_cluster_3xtf32", kTensor, Of<AlignedProduct, F32>, kF32, "split", -2},
    {"tensor_slices_f16", kTensor, Of<AlignedProduct, F16>, kF16, "slices", 2},
    {"tensor_slices_bf16", kTensor, Of<AlignedProduct, BF16>, kBF16, "slices", 2},
    {"tensor_slices_tf32", kTensor, Of<AlignedProduct, Tf32>, kTf32, "slices", 2},
    {"tensor_slices_3xtf32", kTensor, Of<AlignedProduct, F32>, kF32, "slices", 2},
    {"tensor_convolution_f16", kTensor, Of<AlignedConvolution, F16>, kF16},
    {"tensor_convolution_bf16", kTensor, Of<AlignedConvolution, BF16>, kBF16},
    {"tensor_convolution_tf32", kTensor, Of<AlignedConvolution, Tf32>, kTf32},
    {"tensor_convolution_3xtf32", kTensor, Of<AlignedConvolution, F32>, kF32},
    {"tensor_split_convolution_f16", kTensor, Of<AlignedConvolution, F16>, kF16, "split", 2},
    {"tensor_split_convolution_3xtf32", kTensor, Of<AlignedConvolution, F32>, kF32, "split", 2},
    {"tensor_cluster_convolution_f16", kTensor, Of<AlignedConvolution, F16>, kF16, "split", -2},
    {"tensor_cluster_convolution_tf32", kTensor, Of<AlignedConvolution, Tf32>, kTf32, "split", -2},
    {"tensor_image_f16", kTensor, Of<ImageConvolution, F16>, kF16},
    {"tensor_image_tf32", kTensor, Of<ImageConvolution, Tf32>, kTf32},
    {"tensor_image_3xtf32", kTensor, Of<ImageConvolution, F32>, kF32},
    {"image_f16", kImage, Of<ImageConvolution, F16>, kF16},
    {"image_bf16", kImage, Of<ImageConvolution, BF16>, kBF16},
    {"image_tf32", kImage, Of<ImageConvolution, Tf32>, kTf32},
    {"image_over_filters", kImage, Of<ImageConvolution, F16>, kF16, "over", 2},
    {"tensor_bytes_product", kTensor, Bytes<ByteProduct>, kExact},
    {"tensor_bytes_split", kTensor, Bytes<ByteProduct>, kExact, "split", 2},
    {"tensor_bytes_slices", kTensor, Bytes<ByteProduct>, kExact, "slices", 2},
    {"tensor_bytes_convolution", kTensor, Bytes<ByteConvolution>, kExact},
    {"tensor_bytes_image", kTensor, Bytes<ByteImageConvolution>, kExact},
    {"tensor_bytes_any", kTensor, AnyBytes},
    {"tensor_any", kTensor, AnyContraction},
    {"warpgroup_product_f16", kWarpgroup, Of<AlignedProduct, F16>, kF16},
    {"warpgroup_product_bf16", kWarpgroup, Of<AlignedProduct, BF16>, kBF16},
    {"warpgroup_large_product_f16", kWarpgroup, Of<LargeProduct, F16>, kF16},
    {"warpgroup_large_product_bf16", kWarpgroup, Of<LargeProduct, BF16>, kBF16},
    {"warpgroup_split_f16", kWarpgroup, Of<LargeProduct, F16>, kF16, "split", 2},
    {"warpgroup_pending_f16", kWarpgroup, Of<LargeProduct, F16>, kF16, "pending", 1},
    {"warpgroup_convolution_f16", kWarpgroup, Of<AlignedConvolution, F16>, kF16},
    {"warpgroup_convolution_bf16", kWarpgroup, Of<AlignedConvolution, BF16>, kBF16},
    {"warpgroup_product_tf32", kWarpgroup, Of<AlignedProduct, Tf32>, kTf32},
    {"warpgroup_large_product_tf32", kWarpgroup, Of<LargeProduct, Tf32>, kTf32},
    {"warpgroup_convolution_tf32", kWarpgroup, Of<AlignedConvolution, Tf32>, kTf32},
    {"warpgroup_product_3xtf32", kWarpgroup, Of<AlignedProduct, F32>, kF32},
    {"warpgroup_large_product_3xtf32", kWarpgroup, Of<LargeProduct, F32>, kF32},
    {"warpgroup_split_3xtf32", kWarpgroup, Of<LargeProduct, F32>, kF32, "split", 2},
    {"warpgroup_convolution_3xtf32", kWarpgroup, Of<AlignedConvolution, F32>, kF32},
    {"role_product_f16", kRole, Of<AlignedProduct, F16>, kF16},
    {"role_product_bf16", kRole, Of<AlignedProduct, BF16>, kBF16},
    {"role_product_tf32", kRole, Of<AlignedProduct, Tf32>, kTf32},
    {"role_large_product_f16", kRole, Of<LargeProduct, F16>, kF16},
    {"role_large_product_bf16", kRole, Of<LargeProduct, BF16>, kBF16},
    {"role_large_product_tf32", kRole, Of<LargeProduct, Tf32>, kTf32},
    {"role_pending_f16", kRole, Of<LargeProduct, F16>, kF16, "pending", 1},
    {"role_carried_f16", kRole, Of<LargeProduct, F16>, kF16, "storers", 2},
    {"role_carried_bf16", kRole, Of<LargeProduct, BF16>, kBF16, "storers", 2},
    {"role_carried_tf32", kRole, Of<LargeProduct, Tf32>, kTf32, "storers", 2},
    {"role_cluster_f16", kRole, Of<LargeProduct, F16>, kF16, "cluster", 2, true},
    {"role_cluster_bf16", kRole, Of<LargeProduct, BF16>, kBF16, "cluster", 2, true},
    {"role_cluster_tf32", kRole, Of<LargeProduct, Tf32>, kTf32, "cluster", 2, true},
    {"role_cluster_rows_f16", kRole, Of<LargeProduct, F16>, kF16, "cluster", -2},
    {"role_cluster_rows_bf16", kRole, Of<LargeProduct, BF16>, kBF16, "cluster", -2},
    {"role_split_f16", kRole, Of<LargeProduct, F16>, kF16, "split", 2},
    {"role_convolution_f16", kRole, Of<WideConvolution, F16>, kF16},
    {"role_convolution_bf16", kRole, Of<WideConvolution, BF16>, kBF16},
    {"role_convolution_tf32", kRole, Of<WideConvolution, Tf32>, kTf32},
    {"role_convolution_carried", kRole, Of<WideConvolution, F16>, kF16, "storers", 2},
    {"role_convolution_carried_tf32", kRole, Of<WideConvolution, Tf32>, kTf32, "storers", 2},
    {"role_shared_taps_f16", kRole, Of<EvenConvolution, F16>, kF16, "reuse", 1},
    {"role_shared_taps_tf32", kRole, Of<EvenConvolution, Tf32>, kTf32, "reuse", 1},
    {"role_float8_f16", kRole, Float8<F16>, kF16},
    {"role_float8_bf16", kRole, Float8<BF16>, kBF16},
    {"role_float8_f32", kRole, Float8<F32>, kF16},
    {"role_float8_apart", kRole, Float8<F16>, kF16, "apart", 1},
    {"role_float8_carried", kRole, Float8<F16>, kF16, "storers", 2},
    {"role_float8_split", kRole, Float8<BF16>, kBF16, "split", 2},
    {"role_bytes", kRole, Bytes<ByteProduct>, kExact},
    {"role_bytes_convolution", kRole, Bytes<ByteConvolution>, kExact},
    {"role_bytes_pending", kRole, Bytes<ByteProduct>, kExact, "pending", 1},
    {"role_bytes_carried", kRole, Bytes<ByteProduct>, kExact, "storers", 2},
    {"role_bytes_convolution_carried", kRole, Bytes<ByteConvolution>, kExact, "storers", 2},
    {"role_bytes_split", kRole, Bytes<ByteProduct>, kExact, "split", 2},
    {"role_bytes_cluster", kRole, Bytes<ByteProduct>, kExact, "cluster", 2, true},
    {"role_float8_blocks_f16", kRole, Blocks<F16>, kF16},
    {"role_float8_blocks_f32", kRole, Blocks<F32>, kF16},
    {"simt_float8", kSimt, Float8<F16>, kF16},
    {"simt_float8_blocks", kSimt, Blocks<F16>, kF16},
    {"simt_product_f32", kSimt, Of<AlignedProduct, F32>, kF32},
    {"simt_product_f16", kSimt, Of<AlignedProduct, F16>, kF16},
    {"simt_large_product_f32", kSimt, Of<LargeProduct, F32>, kF32},
    {"simt_split_f32", kSimt, Of<AlignedProduct, F32>, kF32, "split", 2},
    {"simt_cluster_f32", kSimt, Of<AlignedProduct, F32>, kF32, "split", -2},
    {"simt_convolution_f32", kSimt, Of<AlignedConvolution, F32>, kF32},
    {"simt_convolution_bf16", kSimt, Of<AlignedConvolution, BF16>, kBF16},
    {"simt_image_f32", kSimt, Of<ImageConvolution, F32>, kF32},
    {"simt_any", kSimt, AnyContraction},
    {"skinny_f16", kSkinny, Skinny<F16>, kF16},
    {"skinny_bf16", kSkinny, Skinny<BF16>, kBF16},
    {"skinny_f32", kSkinny, Skinny<F32>, kF32},
    {"skinny_split_f32", kSkinny, Skinny<F32>, kF32, "split", 2},
    {"skinny_cluster_f32", kSkinny, Skinny<F32>, kF32, "split", -2},
    {"skinny_any", kSkinny, AnyContraction},
    {"few_bits_f16", kFewBits, FewBits<F16>, kF16},
    {"few_bits_bf16", kFewBits, FewBits<BF16>, kBF16},
    {"few_bits_split_bf16", kFewBits, FewBits<BF16>, kBF16, "split", 2},
    {"few_bits_cluster_f16", kFewBits, FewBits<F16>, kF16, "split", -2},
    {"few_rows_f16", kSkinny, FewRows<F16, false>, kF16},
    {"few_rows_bf16", kSkinny, FewRows<BF16, false>, kBF16},
    {"few_rows_f32", kSkinny, FewRows<F32, false>, kF32},
    {"few_rows_split_f32", kSkinny, FewRows<F32, false>, kF32, "split", 2},
    {"few_rows_cluster_bf16", kSkinny, FewRows<BF16, false>, kBF16, "split", -2},
    {"few_rows_of_few_bits_f16", kFewBits, FewRows<F16, true>, kF16},
    {"few_rows_of_few_bits_bf16", kFewBits, FewRows<BF16, true>, kBF16},
    {"few_rows_of_few_bits_split_f16", kFewBits, FewRows<F16, true>, kF16, "split", 2},
    {"few_rows_of_few_bits_cluster_f16", kFewBits, FewRows<F16, true>, kF16, "split", -2},
    {"packed_float8_f16", kFewBits, PackedFloat8<F16>, kF16},
    {"packed_float8_bf16", kFewBits, PackedFloat8<BF16>, kBF16},
    {"packed_float8_split_bf16", kFewBits, PackedFloat8<BF16>, kBF16, "split", 2},
    {"few_rows_of_float8_f16", kFewBits, FewRowsFloat8<F16>, kF16},
    {"few_rows_of_float8_bf16", kFewBits, FewRowsFloat8<BF16>, kBF16},
    {"few_rows_of_float8_cluster_bf16", kFewBits, FewRowsFloat8<BF16>, kBF16, "split", -2},
    {"depthwise", "gpu_depthwise", Depthwise},
    {"pool", "gpu_pool", RandomPool},
    {"softmax", kRows, RandomSoftmax},
    {"layer_norm", kRows, RandomLayerNorm},
    {"reduction", kRows, RandomReduction},
    {"long_rows", kRows, RandomLongRows},
    {"shared_reduction", kRows, RandomSharedReduction, 0, "splits", 2},
    {"wide_rows", kRows, RandomWideRows},
    {"attention", kAttention, RandomAttention},
    {"projected_attention", kAttention, RandomProjectedAttention},
    {"masked_attention", kAttention, RandomMaskedAttention},
    {"long_attention", kAttention, RandomLongAttention},
    {"causal_attention", kAttention, RandomCausalAttention},
    {"cluster_attention", kAttention, RandomLongAttention, 0, "split", 2, true},
    {"role_attention", kRoleAttention, RandomRoleAttention, kBF16},
    {"role_attention_turns", kRoleAttention, RandomRoleAttention, kBF16, "turns", 1},
    {"pointwise_chain", kPointwise, RandomChain},
    {"integers", kPointwise, RandomIntegers},
    {"wide_vectors", kPointwise, RandomWideVectors},
    {"scan_or_scatter", kPointwise, RandomScanOrScatter},
    {"cache_update", kPointwise, RandomCacheUpdate, kBF16},
    {"transposes", kPointwise, RandomTransposes},
    {"transpose_through_tiles", kPointwise, RandomTransposeThroughTiles, 0, "tile", 32},
    {"reshapes", kPointwise, RandomReshapes},
    {"concat_pad_tile_trilu", kPointwise, RandomConcatPadTileTrilu},
    {"gather", kPointwise, RandomGather},
    {"resize", kPointwise, RandomResize},
};

}  // namespace

std::span<const CudaSubject> CudaSubjects() { return kSubjects; }

std::optional<CudaTrial> DrawTrial(const CudaSubject& subject, const target::Target& target,
                                   uint64_t seed) {
  // Subjects of one kind differ in their draws, too.
  Rng rng = Rng(seed).Split(DigestOf(subject.name).low);
  const Family* family = FindFamily(subject.family);
  MLC_CHECK(family != nullptr) << subject.family;
  for (int w = 0; w < kWorkloads; ++w) {
    const RandomWorkload random = subject.draw(rng);
    const auto workload = graph::Workload::Parse(random.text);
    MLC_CHECK(workload.ok()) << workload.status().ToString() << "\n" << random.text;
    if (!family->Accepts(*workload, target)) continue;
    const Space space = family->MakeSpace(*workload, target);
    const auto points = static_cast<uint64_t>(space.NumPoints());
    for (int c = 0; c < kConfigs; ++c) {
      const Config config = space.At(static_cast<int64_t>(rng.Below(points)));
      if (subject.knob != nullptr && !subject.Takes(config[subject.knob])) continue;
      if (family->Check(*workload, target, config) != RejectReason::kNone) continue;
      return CudaTrial{workload->ToText(), config.ToText()};
    }
  }
  return std::nullopt;
}

bool IsCompilersRefusal(std::string_view detail) {
  return detail.find(" spills registers: ") != std::string_view::npos ||
         detail.starts_with("the compiler warns of slow code: ");
}

}  // namespace mlc::schedule
