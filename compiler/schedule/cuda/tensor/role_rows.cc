#include "compiler/schedule/cuda/tensor/role_rows.h"

#include <vector>

namespace mlc::schedule {

using ir::ExprRef;

namespace {

constexpr int kStepBytes = 128;
constexpr int kPieceBytes = 16;
// Of a tensor map: dimensions beside the channels, and what its steps reach.
constexpr size_t kMaxAxes = 4;
constexpr int64_t kMaxStep = 8;
constexpr int kMaxReach = 256;
constexpr int kSwizzleRows = 8;  // after which the places of pieces repeat
constexpr int kUnitRows = 64;    // of the matrix unit

// A dimension of the input, for a part of the rows.
struct InputAxis {
  size_t part = 0;
  int64_t extent = 1;
  int64_t pitch = 0;
  int64_t step = 1;  // from one position to the next
};

// From the innermost on, without images where there is one.
std::vector<InputAxis> InputAxes(const GpuContraction& g) {
  std::vector<InputAxis> axes;
  for (int i = g.part_count - 1; i >= 0; --i) {
    const auto at = static_cast<size_t>(i);
    const RowPart& part = g.parts[at];
    if (part.axis >= 0) {
      const RowAxis& axis = g.Axis(part.axis);
      axes.push_back({at, axis.in, axis.row_stride, axis.stride});
    } else if (part.extent > 1) {
      axes.push_back({at, part.extent, part.stride, 1});
    }
  }
  return axes;
}

}  // namespace

int64_t RowPitch(const GpuContraction& g) {
  int64_t run = 0, pitch = 0;  // elements from one value of the dimensions so far to the next
  for (int i = g.part_count - 1; i >= 0; --i) {
    const RowPart& part = g.parts[static_cast<size_t>(i)];
    if (part.extent == 1) continue;
    if (pitch == 0) {
      pitch = run = part.stride;
    } else if (part.stride != run) {
      return 0;
    }
    run *= part.extent;
  }
  return pitch;
}

bool RowsAreEven(const GpuContraction& g) {
  if (g.p.Taps() != 1 || g.AnyChecked()) return false;
  for (int i = 0; i < 3; ++i) {
    if (g.Axis(i).dim >= 0 && g.Axis(i).pad != 0) return false;
  }
  const int64_t rows = RowPitch(g);
  return rows >= g.k && rows * SizeOf(g.p.row_dtype) % kPieceBytes == 0;
}

bool RowsAreBoxes(const GpuContraction& g) {
  const int64_t size = SizeOf(g.p.row_dtype);
  if (!g.p.convolution || g.p.flattened) return false;
  if (g.p.Taps() > 1 && g.p.depth * size % kStepBytes != 0) return false;
  const std::vector<InputAxis> axes = InputAxes(g);
  int64_t least = g.p.depth;
  for (const InputAxis& axis : axes) {
    if (axis.pitch < least || axis.pitch * size % kPieceBytes != 0) return false;
    if (axis.step > kMaxStep) return false;
    least = axis.pitch;
  }
  return !axes.empty() && axes.size() <= kMaxAxes;
}

TapShare TapShareOf(const GpuContraction& g, const RowBox& box) {
  const RowAxis& height = g.p.outer[1];
  const int last = g.part_count - 1;
  if (!box.IsBox() || last < 1 || height.taps == 1 || height.stride != 1) return {};
  const auto inner = static_cast<size_t>(last);
  if (g.parts[inner].axis != 2 || g.parts[inner - 1].axis != 1) return {};
  const int width = box.sizes[inner], run = width * box.sizes[inner - 1];
  if (width % kSwizzleRows != 0 || run % kUnitRows != 0) return {};
  TapShare share;
  share.taps = static_cast<int>(height.taps);
  share.shift = static_cast<int>(height.dilation) * width;
  share.run = run;
  share.extra = (share.taps - 1) * share.shift;
  const int reach = (run + share.extra) / width;
  return reach <= kMaxReach ? share : TapShare{};
}

namespace {

ir::CopyTensor BoxCopy(ir::KernelBuilder& b, const GpuContraction& g, const RolePlan& plan,
                       const RowsPart& part) {
  const RowBox& box = plan.box;
  const DepthPlace depth = PlaceDepth(b, g, part.k);
  const int outermost = OutermostOf(g, box);
  ir::CopyTensor copy{};
  copy.k = depth.channel;
  copy.depth = g.p.depth;
  for (const InputAxis& input : InputAxes(g)) {
    const RowPart& of = g.parts[input.part];
    ir::BoxAxis axis{part.first[input.part], box.sizes[input.part], input.extent, input.pitch,
                     input.step > 1 ? static_cast<int>(input.step) : 0};
    if (part.parts > 1 && static_cast<int>(input.part) == outermost) {
      axis.box /= part.parts;
      axis.at = axis.at + part.part * int64_t{axis.box};
    }
    if (of.axis >= 0) {
      const RowAxis& own = g.Axis(of.axis);
      if (of.axis == 1 && plan.share.taps > 1) {
        axis.box += (plan.share.taps - 1) * static_cast<int>(own.dilation);
      }
      axis.at =
          axis.at * own.stride + depth.tap[static_cast<size_t>(of.axis)] * own.dilation - own.pad;
    }
    if (copy.row != nullptr) {
      copy.outer.push_back(axis);
      continue;
    }
    copy.row = axis.at;
    copy.box = axis.box;
    copy.rows = axis.extent;
    copy.pitch = axis.pitch;
    copy.step = axis.step;
  }
  return copy;
}

}  // namespace

ir::CopyTensor RowsCopy(ir::KernelBuilder& b, const GpuContraction& g, const RolePlan& plan,
                        ir::BufferId from, const RowsPart& part) {
  ir::CopyTensor copy{};
  if (plan.box.IsBox()) {
    copy = BoxCopy(b, g, plan, part);
  } else {
    copy.box = plan.tensor.bm / part.parts;
    copy.row = part.m_tile * int64_t{plan.tensor.bm} + part.part * int64_t{copy.box};
    copy.k = part.k;
    copy.rows = g.m;
    copy.depth = g.k;
    copy.pitch = RowPitch(g);
  }
  copy.from = from;
  return copy;
}

}  // namespace mlc::schedule
