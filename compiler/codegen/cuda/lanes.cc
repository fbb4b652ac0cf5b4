// Vectors, lane by lane.
#include <utility>

#include "compiler/codegen/cuda/phase_printer.h"

namespace mlc::codegen {

namespace {

// Statements of so many lanes are printed one by one: NVRTC is slow at unrolling loops, and a
// kernel has hundreds of these.
constexpr int kMaxLines = 8;

}  // namespace

PhasePrinter::Rep PhasePrinter::RepOf(DType dtype, int lanes) {
  const int bytes = SizeOf(dtype) * lanes;
  if (SizeOf(dtype) < 4 && bytes % 4 == 0) return {"unsigned", bytes / 4, true};
  return {StorageType(dtype), lanes, false};
}

void PhasePrinter::LaneLoop(int begin, int end, const std::function<std::string()>& statement) {
  loop_ready_.clear();
  std::string before = std::exchange(lines_, std::string());
  ++depth_;
  const std::string last = statement();
  --depth_;
  const std::string body = std::exchange(lines_, std::move(before));
  loop_ready_.clear();
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

Text PhasePrinter::LaneOf(const std::string& array, const Text& first, const Rep& rep,
                          DType dtype) {
  const bool at_start = first.text == "0";
  if (!rep.words) {
    const Text at = at_start ? Text{"L"} : Infix(first, "+", Text{"L"}, Precedence::kAdd);
    return FromStorage(dtype, Text{array + "[" + at.text + "]"});
  }
  const char* function = dtype == DType::kF16    ? "F16Lane"
                         : dtype == DType::kBF16 ? "BF16Lane"
                         : dtype == DType::kI16  ? "I16Lane"
                         : dtype == DType::kI8   ? "I8Lane"
                                                 : "U8Lane";
  const std::string words = at_start ? array : "&" + array + "[" + first.text + "]";
  const Text lane = Call(functions_.Use(function), Text{words}, Text{"L"});
  return dtype == DType::kBool ? Infix(lane, "!=", Text{"0"}, Precedence::kEqual) : lane;
}

Text PhasePrinter::Broadcasted(const ir::ExprRef& value) {
  const bool wide = value->type.dtype == DType::kI64;
  if (const auto* constant = std::get_if<ir::IntImm>(&value->node); constant != nullptr && wide) {
    return IntText(constant->value, true);
  }
  Text text = Scalar(value);
  if (wide && Fits(*value)) text = CastTo("long long", text);
  const bool constant = std::holds_alternative<ir::FloatImm>(value->node) ||
                        std::holds_alternative<ir::IntImm>(value->node);
  return constant || text.IsWord() ? text : Temporary(ValueType(value->type.dtype), text);
}

void PhasePrinter::PrepareLanes(const ir::ExprRef& e) {
  if (lane_ready_.contains(e.get())) return;
  if (const auto* load = std::get_if<ir::Load>(&e->node)) {
    const ir::Buffer& buffer = BufferOf(load->buffer);
    if (buffer.scope != ir::Scope::kRegister) return LoadVector(e, *load);
    const Text first = RegisterBase(buffer, load->index);
    const Rep rep = RepOf(buffer.dtype, buffer.lanes);
    lane_ready_.emplace(e.get(), LaneOf(NameOf(load->buffer), first, rep, buffer.dtype));
    raw_.emplace(e.get(), first.text == "0" ? NameOf(load->buffer)
                                            : "(" + NameOf(load->buffer) + " + " +
                                                  first.At(Precedence::kMul) + ")");
  } else if (const auto* broadcast = std::get_if<ir::Broadcast>(&e->node)) {
    lane_ready_.emplace(e.get(), Broadcasted(broadcast->value));
  } else if (const auto* mask = std::get_if<ir::LaneMask>(&e->node)) {
    Text active = Scalar(mask->active);
    if (!active.IsWord()) active = Temporary(TypeOf(mask->active), active);
    lane_ready_.emplace(e.get(), Infix(Text{"L"}, "<", active, Precedence::kLess));
  } else if (std::holds_alternative<ir::LaneIndex>(e->node)) {
    const std::string_view type = ValueType(e->type.dtype);
    lane_ready_.emplace(e.get(), type == "int" ? Text{"L"} : CastTo(type, Text{"L"}));
  } else if (const auto* cast = std::get_if<ir::Cast>(&e->node)) {
    PrepareLanes(cast->value);
  } else if (const auto* apply = std::get_if<ir::Apply>(&e->node)) {
    for (const ir::ExprRef& arg : apply->args) PrepareLanes(arg);
  }
}

Text PhasePrinter::Lane(const ir::ExprRef& e) {
  if (const auto found = lane_ready_.find(e.get()); found != lane_ready_.end()) {
    return found->second;
  }
  if (const auto found = loop_ready_.find(e.get()); found != loop_ready_.end()) {
    return found->second;
  }
  Text text;
  if (const auto* cast = std::get_if<ir::Cast>(&e->node)) {
    text = Converted(cast->value->type.dtype, e->type.dtype, Lane(cast->value));
  } else {
    const auto& apply = std::get<ir::Apply>(e->node);
    std::vector<Text> args;
    for (const ir::ExprRef& arg : apply.args) args.push_back(Lane(arg));
    text = Operator(apply.op, apply.args.back()->type.dtype, args);
  }
  if (uses_[e.get()] > 1 && !text.IsWord()) text = Temporary(ValueType(e->type.dtype), text);
  loop_ready_.emplace(e.get(), text);
  return text;
}

std::string PhasePrinter::Values(const ir::ExprRef& e) {
  const auto found = raw_.find(e.get());
  const bool as_stored = StorageType(e->type.dtype) == ValueType(e->type.dtype);
  if (found != raw_.end() && as_stored) return found->second;
  const std::string array = NewArray(ValueType(e->type.dtype), e->type.lanes, false);
  LaneLoop(0, e->type.lanes, [&] { return array + "[L] = " + Lane(e).text + ";"; });
  return array;
}

std::string PhasePrinter::StorageArray(const ir::ExprRef& e) {
  if (const auto found = raw_.find(e.get()); found != raw_.end()) return found->second;
  const Rep rep = RepOf(e->type.dtype, e->type.lanes);
  const std::string array = NewArray(rep.type, rep.count, false);
  if (rep.words) {
    PackWords(e, array, Text{"0"});
  } else {
    LaneLoop(0, e->type.lanes,
             [&] { return array + "[L] = " + ToStorage(e->type.dtype, Lane(e)).text + ";"; });
  }
  return array;
}

void PhasePrinter::PackWords(const ir::ExprRef& e, const std::string& array, const Text& first) {
  const DType dtype = e->type.dtype;
  const int words = RepOf(dtype, e->type.lanes).count;
  const std::string at =
      first.text == "0" ? "L" : Infix(first, "+", Text{"L"}, Precedence::kAdd).text;
  if (const auto found = raw_.find(e.get()); found != raw_.end()) {
    LaneLoop(0, words, [&] { return array + "[" + at + "] = " + found->second + "[L];"; });
    return;
  }
  const auto* cast = std::get_if<ir::Cast>(&e->node);
  const bool is_float = IsFloat(dtype);
  // Rounding and packing is one instruction.
  const bool from_float =
      is_float && cast != nullptr && ValueType(cast->value->type.dtype) == "float";
  const std::string values = Values(from_float ? cast->value : e);
  LaneLoop(0, words, [&] {
    const char* function = dtype == DType::kF16    ? "PackF16"
                           : dtype == DType::kBF16 ? "PackBF16"
                           : dtype == DType::kI16  ? "PackI16"
                                                   : "PackBytes";
    const int lanes = 4 / SizeOf(dtype);
    std::string text = array + "[" + at + "] = " + std::string(functions_.Use(function)) + "(";
    for (int i = 0; i < lanes; ++i) {
      text += (i == 0 ? "" : ", ") + values + "[" + std::to_string(lanes) + " * L";
      text += i == 0 ? "]" : " + " + std::to_string(i) + "]";
    }
    return text + ");";
  });
}

}  // namespace mlc::codegen
