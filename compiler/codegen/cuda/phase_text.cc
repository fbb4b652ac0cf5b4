#include "compiler/codegen/cuda/phase_text.h"

#include <utility>

namespace mlc::codegen {

namespace {

// Statements of so many lanes are printed one by one: NVRTC is slow at unrolling loops, and a
// kernel has hundreds of these.
constexpr int kMaxLines = 8;

}  // namespace

void PhaseText::Line(std::string_view text) {
  lines_.append(static_cast<size_t>(depth_) * 2, ' ').append(text).append("\n");
}

void PhaseText::Open(std::string text) {
  Line(text + " {");
  ++depth_;
}

void PhaseText::Else() {
  --depth_;
  Open("} else");
}

void PhaseText::Close() {
  --depth_;
  Line("}");
}

Text PhaseText::NewName() { return {"T" + std::to_string(names_++)}; }

Text PhaseText::Temporary(std::string_view type, const Text& value) {
  Text name = NewName();
  Line("const " + std::string(type) + " " + name.text + " = " + value.text + ";");
  return name;
}

std::string PhaseText::NewArray(std::string_view type, int count, bool zeros) {
  std::string name = "V" + std::to_string(names_++);
  Line(std::string(type) + " " + name + "[" + std::to_string(count) + "]" +
       (zeros ? " = {};" : ";"));
  return name;
}

void PhaseText::LaneLoop(int begin, int end, const std::function<std::string()>& statement) {
  std::string before = std::exchange(lines_, std::string());
  ++depth_;
  const std::string last = statement();
  --depth_;
  const std::string body = std::exchange(lines_, std::move(before));
  if (body.empty() && end - begin <= kMaxLines) {
    for (int lane = begin; lane < end; ++lane) Line(WithValue(last, "L", lane));
    return;
  }
  const std::string head =
      "for (int L = " + std::to_string(begin) + "; L < " + std::to_string(end) + "; ++L)";
  Line("#pragma unroll");
  if (body.empty()) {
    Line(head + " " + last);
    return;
  }
  Open(head);
  lines_ += body;
  Line(last);
  Close();
}

}  // namespace mlc::codegen
