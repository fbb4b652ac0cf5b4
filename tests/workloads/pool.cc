#include "tests/workloads/pool.h"

#include "base/text.h"
#include "tests/workloads/draw.h"

namespace mlc::schedule {

RandomWorkload RandomPool(Rng& rng) {
  const size_t spatial = 1 + rng.Below(3);
  Dims in = {Between(rng, 1, 2), Between(rng, 1, 40)}, out = in;
  Dims kernel, strides, dilations, pads(2 * spatial);
  for (size_t s = 0; s < spatial; ++s) {
    kernel.push_back(Between(rng, 1, 3));
    strides.push_back(Between(rng, 1, 3));
    dilations.push_back(Chance(rng, 20) ? 2 : 1);
    pads[s] = Between(rng, 0, kernel[s] - 1);
    pads[s + spatial] = Between(rng, 0, kernel[s] - 1);
    const int64_t reach = (kernel[s] - 1) * dilations[s] + 1;
    // Every window keeps one tap inside.
    if (dilations[s] > 1) pads[s] = pads[s + spatial] = 0;
    in.push_back(reach + Between(rng, 0, spatial == 1 ? 50 : 18 / static_cast<int64_t>(spatial)));
    out.push_back((in.back() + pads[s] + pads[s + spatial] - reach) / strides[s] + 1);
  }
  const std::string t = Chance(rng, 20) ? "f16" : "f32";
  const std::string x = Chance(rng, 50) ? ChannelsLastType(t, in) : RandomType(rng, t, in);
  const std::string y = Chance(rng, 50) ? ChannelsLastType(t, out) : RandomType(rng, t, out);
  const std::string pool =
      " {count_include_pad=" + std::to_string(rng.Below(2)) +
      ",dilations=" + IntListToText(dilations) + ",kernel=" + IntListToText(kernel) +
      ",kind=" + (Chance(rng, 50) ? "max" : "avg") + ",pads=" + IntListToText(pads) +
      ",strides=" + IntListToText(strides) + "} : ";
  const bool fused = Chance(rng, 50);
  std::string body = "  %0 = input() : " + x + "\n";
  if (fused) {
    body += "  %1 = abs(%0) : " + DenseType(t, in) + "\n  %2 = pool(%1)" + pool +
            DenseType(t, out) + "\n  %3 = neg(%2) : " + y + "\n";
  } else {
    body += "  %1 = pool(%0)" + pool + y + "\n";
  }
  return {WorkloadText(body, fused ? "%3" : "%1")};
}

}  // namespace mlc::schedule
