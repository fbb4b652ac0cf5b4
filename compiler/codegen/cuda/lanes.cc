#include "compiler/codegen/cuda/lanes.h"

#include <algorithm>
#include <vector>

namespace mlc::codegen {

namespace {

// Functions of lanes that are packed into words.
struct LaneFunctions {
  const char* lane;
  const char* pack;
};

LaneFunctions LaneFunctionsOf(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return {"F16Lane", "PackF16"};
    case DType::kBF16:
      return {"BF16Lane", "PackBF16"};
    case DType::kF8E4M3Fn:
      return {"F8E4M3Lane", "PackF8E4M3"};
    case DType::kF8E5M2:
      return {"F8E5M2Lane", "PackF8E5M2"};
    case DType::kI16:
      return {"I16Lane", "PackI16"};
    case DType::kI8:
      return {"I8Lane", "PackBytes"};
    default:
      return {"U8Lane", "PackBytes"};
  }
}

}  // namespace

void LanePrinter::Forget() {
  ready_.clear();
  raw_.clear();
}

void LanePrinter::Loop(int begin, int end, const std::function<std::string()>& statement) {
  in_loop_.clear();
  text_.LaneLoop(begin, end, statement);
  in_loop_.clear();
}

Text LanePrinter::LaneOf(const std::string& array, const Text& first, const LaneArray& form,
                         DType dtype) {
  const bool at_start = first.text == "0";
  if (!form.words) {
    const Text at = at_start ? Text{"L"} : Infix(first, "+", Text{"L"}, Precedence::kAdd);
    return operators_.FromStorage(dtype, Text{array + "[" + at.text + "]"});
  }
  const char* function = LaneFunctionsOf(dtype).lane;
  const std::string words = at_start ? array : "&" + array + "[" + first.text + "]";
  const Text lane = Call(scope_.functions.Use(function), Text{words}, Text{"L"});
  return dtype == DType::kBool ? Infix(lane, "!=", Text{"0"}, Precedence::kEqual) : lane;
}

Text LanePrinter::Broadcasted(const ir::ExprRef& value) {
  const bool wide = value->type.dtype == DType::kI64;
  if (const auto* constant = std::get_if<ir::IntImm>(&value->node); constant != nullptr && wide) {
    return IntText(constant->value, true);
  }
  Text text = scalars_.Scalar(value);
  if (wide && scope_.Fits(*value)) text = CastTo("long long", text);
  const bool constant = std::holds_alternative<ir::FloatImm>(value->node) ||
                        std::holds_alternative<ir::IntImm>(value->node);
  return constant || text.IsWord() ? text : text_.Temporary(ValueType(value->type.dtype), text);
}

void LanePrinter::Prepare(const ir::ExprRef& e) {
  if (ready_.contains(e.get())) return;
  if (const auto* load = std::get_if<ir::Load>(&e->node)) {
    const ir::Buffer& buffer = scope_.BufferOf(load->buffer);
    if (buffer.scope != ir::Scope::kRegister) return Load(e, *load);
    const Text first = scalars_.RegisterBase(buffer, load->index);
    const LaneArray form = LaneArray::Of(buffer.dtype, buffer.lanes);
    ready_.emplace(e.get(), LaneOf(scope_.NameOf(load->buffer), first, form, buffer.dtype));
    raw_.emplace(e.get(), first.text == "0" ? scope_.NameOf(load->buffer)
                                            : "(" + scope_.NameOf(load->buffer) + " + " +
                                                  first.At(Precedence::kMul) + ")");
  } else if (const auto* broadcast = std::get_if<ir::Broadcast>(&e->node)) {
    ready_.emplace(e.get(), Broadcasted(broadcast->value));
  } else if (const auto* mask = std::get_if<ir::LaneMask>(&e->node)) {
    Text active = scalars_.Scalar(mask->active);
    if (!active.IsWord()) active = text_.Temporary(scope_.TypeOf(mask->active), active);
    ready_.emplace(e.get(), Infix(Text{"L"}, "<", active, Precedence::kLess));
  } else if (std::holds_alternative<ir::LaneIndex>(e->node)) {
    const std::string_view type = ValueType(e->type.dtype);
    ready_.emplace(e.get(), type == "int" ? Text{"L"} : CastTo(type, Text{"L"}));
  } else if (const auto* cast = std::get_if<ir::Cast>(&e->node)) {
    Prepare(cast->value);
  } else if (const auto* apply = std::get_if<ir::Apply>(&e->node)) {
    for (const ir::ExprRef& arg : apply->args) Prepare(arg);
  }
}

Text LanePrinter::Lane(const ir::ExprRef& e) {
  if (const auto found = ready_.find(e.get()); found != ready_.end()) {
    return found->second;
  }
  if (const auto found = in_loop_.find(e.get()); found != in_loop_.end()) {
    return found->second;
  }
  Text text;
  if (const auto* cast = std::get_if<ir::Cast>(&e->node)) {
    text = Cast(*e, *cast);
  } else {
    const auto& apply = std::get<ir::Apply>(e->node);
    std::vector<Text> args;
    for (const ir::ExprRef& arg : apply.args) args.push_back(Lane(arg));
    text = operators_.Apply(apply.op, apply.args.back()->type.dtype, args);
  }
  if (scalars_.IsReused(e) && !text.IsWord())
    text = text_.Temporary(ValueType(e->type.dtype), text);
  in_loop_.emplace(e.get(), text);
  return text;
}

Text LanePrinter::Cast(const ir::Expr& e, const ir::Cast& cast) {
  const DType from = cast.value->type.dtype;
  if (const std::optional<ir::RoundedByte> rounded = RoundedByteOf(e)) {
    return operators_.RoundByte(*rounded, e.type.dtype, Lane(rounded->x));
  }
  const auto words = raw_.find(cast.value.get());
  if (from == DType::kU8 && e.type.dtype == DType::kF32 && words != raw_.end() &&
      LaneArray::Of(from, e.type.lanes).words) {
    return Call(scope_.functions.Use("U8LaneToFloat"), Text{words->second}, Text{"L"});
  }
  return operators_.Convert(from, e.type.dtype, Lane(cast.value));
}

std::string LanePrinter::Values(const ir::ExprRef& e) {
  const auto found = raw_.find(e.get());
  const bool as_stored = StorageType(e->type.dtype) == ValueType(e->type.dtype);
  if (found != raw_.end() && as_stored) return found->second;
  const std::string array = text_.NewArray(ValueType(e->type.dtype), e->type.lanes, false);
  Loop(0, e->type.lanes, [&] { return array + "[L] = " + Lane(e).text + ";"; });
  return array;
}

std::string LanePrinter::LowBytes(const ir::RoundedByte& rounded, int lanes) {
  const std::string array = text_.NewArray("int", lanes, false);
  Loop(0, lanes, [&] {
    return array + "[L] = " + operators_.RoundByte(rounded, DType::kI32, Lane(rounded.x)).text +
           ";";
  });
  return array;
}

std::string LanePrinter::StorageArray(const ir::ExprRef& e) {
  if (const auto found = raw_.find(e.get()); found != raw_.end()) return found->second;
  const LaneArray form = LaneArray::Of(e->type.dtype, e->type.lanes);
  const std::string array = text_.NewArray(form.type, form.count, false);
  if (form.words) {
    PackWords(e, array, Text{"0"});
  } else {
    Loop(0, e->type.lanes, [&] {
      return array + "[L] = " + operators_.ToStorage(e->type.dtype, Lane(e)).text + ";";
    });
  }
  return array;
}

void LanePrinter::PackWords(const ir::ExprRef& e, const std::string& array, const Text& first) {
  const DType dtype = e->type.dtype;
  const int words = LaneArray::Of(dtype, e->type.lanes).count;
  const std::string at =
      first.text == "0" ? "L" : Infix(first, "+", Text{"L"}, Precedence::kAdd).text;
  if (const auto found = raw_.find(e.get()); found != raw_.end()) {
    Loop(0, words, [&] { return array + "[" + at + "] = " + found->second + "[L];"; });
    return;
  }
  const auto* cast = std::get_if<ir::Cast>(&e->node);
  const bool is_float = IsFloat(dtype);
  // Rounding and packing is one instruction.
  const bool from_float =
      is_float && cast != nullptr && ValueType(cast->value->type.dtype) == "float";
  std::optional<ir::RoundedByte> rounded;
  if (cast != nullptr && SizeOf(dtype) == 1) rounded = ir::FindRoundedByte(*e);
  const std::string values =
      rounded ? LowBytes(*rounded, e->type.lanes) : Values(from_float ? cast->value : e);
  Loop(0, words, [&] {
    const int lanes = std::min(4 / SizeOf(dtype), e->type.lanes);
    const bool pair = SizeOf(dtype) == 1 && lanes == 2;
    const char* function = pair ? "PackTwoBytes" : LaneFunctionsOf(dtype).pack;
    std::string text =
        array + "[" + at + "] = " + std::string(scope_.functions.Use(function)) + "(";
    for (int i = 0; i < lanes; ++i) {
      text += (i == 0 ? "" : ", ") + values + "[" + std::to_string(lanes) + " * L";
      text += i == 0 ? "]" : " + " + std::to_string(i) + "]";
    }
    return text + ");";
  });
}

void LanePrinter::Load(const ir::ExprRef& e, const ir::Load& load) {
  const ir::Buffer& buffer = scope_.BufferOf(load.buffer);
  const int lanes = e->type.lanes;
  const Pieces pieces =
      memory_.Cut(load.buffer, load.index, lanes, load.stride, load.mask, Access::kLoad);
  const LaneArray packed = LaneArray::Of(buffer.dtype, lanes);
  const LaneArray form =
      pieces.packed() ? packed : LaneArray{StorageType(buffer.dtype), lanes, false};
  const std::string array = text_.NewArray(form.type, form.count, load.mask != nullptr);
  memory_.Move(pieces, array, form);
  ready_.emplace(e.get(), LaneOf(array, Text{"0"}, form, buffer.dtype));
  if (form.words == packed.words) raw_.emplace(e.get(), array);
}

Text LanePrinter::Reduce(const ir::ReduceLanes& reduce) {
  const ir::Type type = reduce.value->type;
  Prepare(reduce.value);
  const std::string values = Values(reduce.value);
  const Text sum = text_.NewName();
  text_.Line(std::string(ValueType(type.dtype)) + " " + sum.text + " = " + values + "[0];");
  Loop(1, type.lanes, [&] {
    return sum.text + " = " +
           operators_.Apply(reduce.op, type.dtype, {sum, Text{values + "[L]"}}).text + ";";
  });
  return sum;
}

}  // namespace mlc::codegen
