#include "tests/fuzz/server/hostile_workloads.h"

#include <functional>

#include "compiler/graph/graph.h"
#include "compiler/types/dtype.h"
#include "compiler/types/scalar_op.h"

namespace mlc::server {
namespace {

const std::string kHead = "workload v1 tolerance=1e-04 {\n";

std::string Replaced(std::string text, const std::string& what, const std::string& by) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size())) {
    text.replace(at, what.size(), by);
  }
  return text;
}

std::string Id(int id) { return "%" + std::to_string(id); }

// One operator over inputs of the given types.
std::string One(const std::vector<std::string>& inputs, const std::string& op,
                const std::string& attrs, const std::string& type) {
  std::string text = kHead, operands;
  int id = 0;
  for (const std::string& input : inputs) {
    text += Id(id) + " = input() : " + input + "\n";
    operands += (id == 0 ? "" : ", ") + Id(id);
    ++id;
  }
  return text + Id(id) + " = " + op + "(" + operands + ")" +
         (attrs.empty() ? "" : " {" + attrs + "}") + " : " + type + "\nreturn " + Id(id) + "\n}\n";
}

// Doubles along the axis with every step.
std::string Doubling(int steps, const std::string& dtype, int64_t first) {
  std::string text = kHead + "%0 = input() : " + dtype + "[" + std::to_string(first) + "]\n";
  for (int i = 0; i < steps; ++i) {
    first *= 2;
    text += Id(i + 1) + " = concat(" + Id(i) + ", " + Id(i) + ") {axis=0} : " + dtype + "[" +
            std::to_string(first) + "]\n";
  }
  return text + "return " + Id(steps) + "\n}\n";
}

// Each value is a sum of two slices of the one before it.
std::string Slices(int steps) {
  std::string text = kHead + "%0 = input() : f32[1048576]\n";
  int64_t size = 1048576;
  int id = 0;
  for (int i = 0; i < steps; ++i) {
    size -= int64_t{1} << i;
    const std::string type = " : f32[" + std::to_string(size) + "]\n";
    text += Id(id + 1) + " = slice(" + Id(id) + ") {starts=[0], steps=[1]}" + type;
    text += Id(id + 2) + " = slice(" + Id(id) + ") {starts=[" + std::to_string(int64_t{1} << i) +
            "], steps=[1]}" + type;
    text += Id(id + 3) + " = add(" + Id(id + 1) + ", " + Id(id + 2) + ")" + type;
    id += 3;
  }
  return text + "return " + Id(id) + "\n}\n";
}

std::string Wide(int operands, bool same) {
  std::string text = kHead, list;
  for (int i = 0; i < operands; ++i) {
    if (!same || i == 0) text += Id(i) + " = input() : f32[2,3]\n";
    list += (i == 0 ? "" : ", ") + Id(same ? 0 : i);
  }
  const std::string result = Id(same ? 1 : operands);
  return text + result + " = concat(" + list + ") {axis=1} : f32[2," +
         std::to_string(3 * operands) + "]\nreturn " + result + "\n}\n";
}

std::string Sums(int inputs) {
  std::string text = kHead;
  for (int i = 0; i < inputs; ++i) text += Id(i) + " = input() : f32[64]\n";
  for (int i = 1; i < inputs; ++i) {
    text += Id(inputs + i - 1) + " = add(" + Id(i == 1 ? 0 : inputs + i - 2) + ", " + Id(i) +
            ") : f32[64]\n";
  }
  return text + "return " + Id(2 * inputs - 2) + "\n}\n";
}

std::string Outputs(int outputs, const std::string& op) {
  std::string text = kHead + "%0 = input() : f32[4,6]\n", list;
  for (int i = 1; i <= outputs; ++i) {
    text += Id(i) + " = " + op + "(%0, %0)" +
            (op == "concat" ? " {axis=0} : f32[8,6]" : " : f32[4,6]") + "\n";
    list += (i == 1 ? "" : ", ") + Id(i);
  }
  return text + "return " + list + "\n}\n";
}

void AddChains(std::vector<Hostile>& all) {
  const std::string square = "f32[64,64]";
  const std::string same = " : $\n";
  const struct {
    std::string name, line;
  } kLines[] = {
      {"exp", "exp(@)" + same},
      {"add", "add(@, @)" + same},
      {"mod", "mod(@, @)" + same},
      {"transpose", "transpose(@) {perm=[1,0]}" + same},
      {"trilu", "trilu(@) {k=1, upper=1}" + same},
      {"reverse", "slice(@) {starts=[63,0], steps=[-1,1]}" + same},
      {"pad", "pad(@) {mode=constant, pads=[1,0,-1,0], value=0.5}" + same},
      {"reflect", "pad(@) {mode=reflect, pads=[1,0,-1,0], value=0}" + same},
      {"concat", "concat(@) {axis=0}" + same},
      {"tile", "tile(@) {repeats=[1,1]}" + same},
      {"softmax", "softmax(@) {axis=1}" + same},
      {"matmul", "matmul(@, @)" + same},
      {"cum_sum", "cum_sum(@) {axis=0, exclusive=0, reverse=0}" + same},
      {"resize",
       "resize(@) {coordinate_mode=half_pixel, cubic_coeff_a=-0.75, exclude_outside=0, "
       "extrapolation=0, mode=linear, nearest_mode=floor, scales=[1.5,1.5]}" +
           same},
  };
  for (const auto& [name, line] : kLines) {
    for (const int steps : {30, 300, 1000, 5000}) {
      all.push_back({name + " " + std::to_string(steps), Chain(steps, square, line)});
      if (steps > 1000) continue;
      all.push_back({name + " under softmax " + std::to_string(steps),
                     Chain(steps, square, line, "softmax(@) {axis=1}" + same)});
      all.push_back(
          {name + " under reduce " + std::to_string(steps),
           Chain(steps, square, line, "reduce(@) {axes=[1], keepdims=1, kind=sum} : f32[64,1]\n")});
      all.push_back(
          {name + " under a norm " + std::to_string(steps),
           Chain(steps, square, line, "layer_norm(@, _, _) {axis=1, epsilon=1e-05}" + same)});
    }
  }
  for (const int steps : {50'000, 200'000}) {
    all.push_back({"exp " + std::to_string(steps), Chain(steps, square, "exp(@)" + same)});
  }
}

void AddLarge(std::vector<Hostile>& all) {
  const std::string big = "1048576", huge = "1099511627776";
  const auto add = [&all](const std::string& name, const std::string& text) {
    all.push_back({name, text});
  };
  add("matmul huge", One({"f32[" + big + "," + big + "]", "f32[" + big + "," + big + "]"}, "matmul",
                         "", "f32[" + big + "," + big + "]"));
  add("matmul deep", One({"f32[1," + huge + "]", "f32[" + huge + ",1]"}, "matmul", "", "f32[1,1]"));
  add("matmul outer", One({"f32[" + big + ",1]", "f32[1," + big + "]"}, "matmul", "",
                          "f32[" + big + "," + big + "]"));
  add("attention huge",
      One({"f32[1,1," + huge + ",1]", "f32[1,1," + huge + ",1]", "f32[1,1," + huge + ",1]"},
          "attention", "scale=1", "f32[1,1," + huge + ",1]"));
  add("softmax huge", One({"f32[" + huge + "]"}, "softmax", "axis=0", "f32[" + huge + "]"));
  add("relu huge", One({"f32[" + huge + "]"}, "exp", "", "f32[" + huge + "]"));
  add("bool huge", One({"bool[" + huge + "]"}, "not", "", "bool[" + huge + "]"));
  add("expand huge", One({"f32[1]"}, "expand", "", "f32[100000000]"));
  add("conv of a huge window",
      One({"f32[1,1," + big + "]", "f32[1,1," + big + "]"}, "conv",
          "dilations=[1], group=1, pads=[0,0], strides=[1]", "f32[1,1,1]"));
  add("conv of a large window",
      One({"f32[1,1,60000]", "f32[1,1,60000]"}, "conv",
          "dilations=[1], group=1, pads=[1000,1000], strides=[1]", "f32[1,1,2001]"));
  add("conv far beyond its borders",
      One({"f32[1,1,8,8]", "f32[1,1,3,3]"}, "conv",
          "dilations=[1,1], group=1, pads=[1000,1000,1000,1000], strides=[1,1]",
          "f32[1,1,2006,2006]"));
  add("conv of many groups",
      One({"f32[1,65536,8,8]", "f32[65536,1,3,3]"}, "conv",
          "dilations=[1,1], group=65536, pads=[1,1,1,1], strides=[1,1]", "f32[1,65536,8,8]"));
  add("pool of a window in ten dimensions",
      One({"f32[1,1,1,1,1,1,1,1,1,1,1,1]"}, "pool",
          "count_include_pad=1, dilations=[1,1,1,1,1,1,1,1,1,1], "
          "kernel=[4096,4096,4096,4096,4096,4096,4096,4096,4096,4096], kind=max, "
          "pads=[4095,4095,4095,4095,4095,4095,4095,4095,4095,4095,0,0,0,0,0,0,0,0,0,0], "
          "strides=[1,1,1,1,1,1,1,1,1,1]",
          "f32[1,1,1,1,1,1,1,1,1,1,1,1]"));
  add("resize in twelve dimensions",
      One({"f32[2,2,2,2,2,2,2,2,2,2,2,2]"}, "resize",
          "coordinate_mode=half_pixel, cubic_coeff_a=-0.75, exclude_outside=0, extrapolation=0, "
          "mode=linear, nearest_mode=floor, scales=[2,2,2,2,2,2,2,2,2,2,2,2]",
          "f32[4,4,4,4,4,4,4,4,4,4,4,4]"));
  const std::string wide = "268435456";
  add("packed columns that decode to far more",
      One({"u8[1048576," + wide + "]", "f32[1048576,1]"}, "dequantize",
          "bits=2, block=1073741824, depth=1073741824, zero=0", "f32[1073741824,1048576]"));
  add("packed columns whose sizes overflow",
      One({"u8[1,1]", "f32[1,1]"}, "dequantize",
          "bits=2, block=1099511627776, depth=" + huge + ", zero=0", "f32[" + huge + ",1]"));
  add("packed columns without a block",
      One({"u8[8,8]", "f32[8,1]"}, "dequantize", "bits=8, block=0, depth=8, zero=0", "f32[8,8]"));
  add("a pool of many taps",
      One({"f32[1,8,200,200]"}, "pool",
          "count_include_pad=1, dilations=[1,1], kernel=[200,200], kind=max, pads=[0,0,0,0], "
          "strides=[1,1]",
          "f32[1,8,1,1]"));
}

// Takes a name and a text.
using Add = std::function<void(const std::string& name, const std::string& text)>;

const std::vector<std::string> kTypes = {"f32", "f64", "f16", "bf16", "i8",
                                         "u8",  "i16", "i32", "i64",  "bool"};

void AddScalarOperators(const Add& add) {
  for (int i = 0; i < ScalarOpCount(); ++i) {
    const ScalarOpInfo& info = InfoOf(static_cast<ScalarOp>(i));
    const std::string op(info.name);
    for (const std::string& type : kTypes) {
      for (const std::string dims : {"[300]", "[]", "[0]"}) {
        std::vector<std::string> inputs(static_cast<size_t>(info.arity), type + dims);
        if (op == "select") inputs[0] = "bool" + dims;
        add(op + " " + type + dims, One(inputs, op, "", (info.gives_bool ? "bool" : type) + dims));
      }
    }
  }
}

void AddCastsAndConstants(const std::string& from, const Add& add) {
  for (const std::string& to : kTypes) {
    add("cast " + from + " to " + to, One({from + "[40]"}, "cast", "", to + "[40]"));
  }
  for (const std::string value : {"0", "-1", "1e308", "nan", "inf", "0.5"}) {
    add("constant " + from + " " + value,
        kHead + "%0 = input() : " + from + "[40]\n%1 = constant() {value=" + value + "} : " + from +
            "[]\n%2 = add(%0, %1) : " + from + "[40]\nreturn %2\n}\n");
    add("only a constant " + from + " " + value,
        kHead + "%0 = constant() {value=" + value + "} : " + from + "[3]\nreturn %0\n}\n");
  }
}

void AddRows(const std::string& from, const std::string& dims, const Add& add) {
  add("matmul " + from + dims, One({from + dims, from + (dims == "[0,8]"   ? "[8,0]"
                                                         : dims == "[8,0]" ? "[0,8]"
                                                                           : dims)},
                                   "matmul", "", from + (dims == "[0,8]" ? "[0,0]" : dims)));
  for (const std::string op : {"softmax", "log_softmax"}) {
    add(op + from + dims, One({from + dims}, op, "axis=1", from + dims));
    add(op + "0" + from + dims, One({from + dims}, op, "axis=0", from + dims));
  }
  add("norm" + from + dims, One({from + dims}, "layer_norm", "axis=1, epsilon=0", from + dims));
  add("transpose" + from + dims, One({from + dims}, "transpose", "perm=[0,1]", from + dims));
  add("cumsum" + from + dims,
      One({from + dims}, "cum_sum", "axis=1, exclusive=1, reverse=1", from + dims));
  add("trilu" + from + dims, One({from + dims}, "trilu", "k=-3, upper=0", from + dims));
}

void AddReductions(const std::string& from, const std::string& dims, const Add& add) {
  for (const std::string kind :
       {"sum", "mean", "max", "min", "prod", "l1", "l2", "sum_square", "log_sum_exp"}) {
    const std::string rows = dims.substr(0, dims.find(',')) + ",1]";
    add(kind + from + dims,
        One({from + dims}, "reduce", "axes=[1], keepdims=1, kind=" + kind, from + rows));
    add(kind + " of all" + from + dims,
        One({from + dims}, "reduce", "axes=[0,1], keepdims=0, kind=" + kind, from + "[]"));
    add(kind + " of none" + from + dims,
        One({from + dims}, "reduce", "axes=[], keepdims=0, kind=" + kind, from + dims));
  }
  for (const std::string kind : {"max", "min"}) {
    add("arg" + kind + from + dims,
        One({from + dims}, "arg", "axis=0, keepdims=0, kind=" + kind + ", select_last=1",
            "i64[" + dims.substr(dims.find(',') + 1)));
  }
}

void AddWindows(const std::string& from, const Add& add) {
  for (const std::string kind : {"max", "avg"}) {
    add("pool " + kind + from, One({from + "[1,5,9,9]"}, "pool",
                                   "count_include_pad=0, dilations=[1,2], kernel=[3,2], kind=" +
                                       kind + ", pads=[1,1,1,1], strides=[2,2]",
                                   from + "[1,5,5,5]"));
    add("pool of one dimension " + kind + from,
        One({from + "[1,5,9]"}, "pool",
            "count_include_pad=1, dilations=[1], kernel=[9], kind=" + kind +
                ", pads=[8,8], strides=[3]",
            from + "[1,5,6]"));
  }
}

void AddAttentions(const std::string& from, const Add& add) {
  add("attention" + from, One({from + "[1,2,5,3]", from + "[1,2,7,3]", from + "[1,2,7,4]"},
                              "attention", "scale=1", from + "[1,2,5,4]"));
  add("attention of nothing" + from,
      One({from + "[1,2,0,3]", from + "[1,2,7,3]", from + "[1,2,7,4]"}, "attention", "scale=1",
          from + "[1,2,0,4]"));
  add("attention to nothing" + from,
      One({from + "[1,2,5,3]", from + "[1,2,0,3]", from + "[1,2,0,4]"}, "attention", "scale=1",
          from + "[1,2,5,4]"));
  add("attention without depth" + from,
      One({from + "[1,2,5,0]", from + "[1,2,7,0]", from + "[1,2,7,4]"}, "attention", "scale=1",
          from + "[1,2,5,4]"));
}

void AddConvolutions(const std::string& from, const Add& add) {
  add("conv" + from, One({from + "[1,4,9]", from + "[6,2,3]"}, "conv",
                         "dilations=[2], group=2, pads=[9,0], strides=[3]", from + "[1,6,5]"));
  add("conv of no channels" + from,
      One({from + "[1,0,9,9]", from + "[6,0,3,3]"}, "conv",
          "dilations=[1,1], group=1, pads=[0,0,0,0], strides=[1,1]", from + "[1,6,7,7]"));
  add("conv of no filters" + from,
      One({from + "[1,4,9,9]", from + "[0,4,3,3]"}, "conv",
          "dilations=[1,1], group=1, pads=[0,0,0,0], strides=[1,1]", from + "[1,0,7,7]"));
  add("depthwise" + from,
      One({from + "[2,17,9,9]", from + "[17,1,3,3]"}, "conv",
          "dilations=[1,1], group=17, pads=[9,9,0,0], strides=[1,2]", from + "[2,17,16,8]"));
  add("depthwise doubled" + from,
      One({from + "[2,16,9,9]", from + "[32,1,3,3]"}, "conv",
          "dilations=[3,1], group=16, pads=[3,1,3,1], strides=[1,1]", from + "[2,32,9,9]"));
}

void AddIndexed(const std::string& from, const Add& add) {
  add("gather" + from, One({from + "[5,6]", "i32[2,3]"}, "gather", "axis=1", from + "[5,2,3]"));
  add("gather from nothing" + from,
      One({from + "[5,0]", "i32[2,3]"}, "gather", "axis=1", from + "[5,2,3]"));
  add("gather_elements" + from,
      One({from + "[5,6]", "i64[2,6]"}, "gather_elements", "axis=0", from + "[2,6]"));
  add("gather_nd" + from,
      One({from + "[5,6]", "i64[4,2]"}, "gather_nd", "batch_dims=0", from + "[4]"));
  add("gather_nd of nothing" + from,
      One({from + "[5,6]", "i64[4,0]"}, "gather_nd", "batch_dims=0", from + "[4,5,6]"));
  for (const std::string how : {"none", "add", "mul", "max", "min"}) {
    add("scatter_elements " + how + from,
        One({from + "[5,6]", "i64[2,6]", from + "[2,6]"}, "scatter_elements",
            "axis=0, reduction=" + how, from + "[5,6]"));
    add("scatter_nd " + how + from, One({from + "[5,6]", "i64[4,1]", from + "[4,6]"}, "scatter_nd",
                                        "reduction=" + how, from + "[5,6]"));
    add("scatter_nd of nothing " + how + from,
        One({from + "[5,6]", "i64[0,1]", from + "[0,6]"}, "scatter_nd", "reduction=" + how,
            from + "[5,6]"));
  }
}

void AddSelections(const Add& add) {
  for (const std::string size : {"0", "7", "1048577"}) {
    add("nonzero " + size, One({"bool[" + size + "]"}, "nonzero", "", "i64[" + size + "]"));
    for (const std::string classes : {"0", "3"}) {
      const std::string scores = "f16[2," + classes + "," + size + "]";
      const std::string result = "i64[2," + classes + "," + size + "]";
      add("suppress " + size + " of " + classes,
          One({"f32[2," + size + ",4]", scores, "i64[1]", "f32[1]", "f64[1]"}, "suppress",
              "center=1", result));
    }
  }
}

void AddMovement(const std::string& from, const Add& add) {
  for (const std::string mode : {"constant", "reflect", "edge", "wrap"}) {
    add("pad " + mode + from,
        One({from + "[5,6]"}, "pad", "mode=" + mode + ", pads=[2,7,-1,-3], value=0.5",
            from + "[6,10]"));
  }
  for (const std::string mode : {"nearest", "linear", "cubic"}) {
    add("resize " + mode + from,
        One({from + "[5,6]"}, "resize",
            "coordinate_mode=align_corners, cubic_coeff_a=-0.75, exclude_outside=1, "
            "extrapolation=0, mode=" +
                mode + ", nearest_mode=ceil, scales=[0.2,3.5]",
            from + "[1,21]"));
  }
  add("tile" + from, One({from + "[5,6]"}, "tile", "repeats=[3,0]", from + "[15,0]"));
  add("slice of nothing" + from,
      One({from + "[5,6]"}, "slice", "starts=[4,0], steps=[-2,1]", from + "[3,0]"));
  add("view" + from, One({from + "[5,6]"}, "view", "offset=3", from + "[5,5]{6,1}"));
  add("copy" + from, One({from + "[5,6]"}, "copy", "", from + "[5,6]{1,5}"));
  add("overlapping copy" + from, One({from + "[5,6]"}, "copy", "", from + "[5,6]{0,0}"));
  add("an input" + from, kHead + "%0 = input() : " + from + "[5,6]\nreturn %0, %0\n}\n");
  add("an overlapping input" + from, One({from + "[5,6]{0,0}"}, "add", "", from + "[5,6]"));
}

}  // namespace

std::string Chain(int steps, const std::string& first, const std::string& line,
                  const std::string& last) {
  std::string text = kHead + "%0 = input() : " + first + "\n";
  int id = 0;
  const auto add = [&](const std::string& form) {
    text += Id(id + 1) + " = " + Replaced(Replaced(form, "@", Id(id)), "$", first);
    ++id;
  };
  for (int i = 0; i < steps; ++i) add(line);
  if (!last.empty()) add(last);
  return text + "return " + Id(id) + "\n}\n";
}

std::vector<Hostile> HostileWorkloads() {
  std::vector<Hostile> all;
  for (const int steps : {3, 6, 11, 20, 35, 39}) {
    all.push_back({"doubling " + std::to_string(steps), Doubling(steps, "f32", 1)});
    all.push_back({"doubling of nothing " + std::to_string(steps), Doubling(steps, "f32", 0)});
    all.push_back({"doubling bytes " + std::to_string(steps), Doubling(steps, "bool", 1)});
  }
  for (const int steps : {3, 8, 18}) {
    all.push_back({"slices " + std::to_string(steps), Slices(steps)});
  }
  for (const int operands : {60, 500, 513, 4096, 4097, 1'000'000}) {
    all.push_back({"concat of " + std::to_string(operands), Wide(operands, true)});
    if (operands > 5000) continue;
    all.push_back({"concat of inputs " + std::to_string(operands), Wide(operands, false)});
  }
  for (const int inputs : {200, 1000, 3000}) {
    all.push_back({"sum of " + std::to_string(inputs), Sums(inputs)});
  }
  for (const int outputs : {3, 16, 17, 4000}) {
    for (const std::string op : {"add", "concat"}) {
      all.push_back({op + " outputs " + std::to_string(outputs), Outputs(outputs, op)});
    }
  }
  AddChains(all);
  AddLarge(all);
  const std::string ones = " : $\n";
  all.push_back({"a gather of ones",
                 Chain(40, "f32[1]", "add(@, @)" + ones, "gather(@, @) {axis=0} : f32[1]\n")});
  std::string gathers = kHead + "%0 = input() : f32[1]\n%1 = input() : i64[1]\n";
  gathers += "%2 = add(%0, %0) : f32[1]\n";
  for (int i = 3; i < 43; ++i) {
    gathers += Id(i) + " = add(" + Id(i - 1) + ", " + Id(i - 1) + ") : f32[1]\n";
  }
  gathers += "%43 = gather(%42, %1) {axis=0} : f32[1]\nreturn %43\n}\n";
  all.push_back({"sums of one under a gather", gathers});
  return all;
}

std::vector<Hostile> OddWorkloads() {
  std::vector<Hostile> all;
  const auto add = [&all](const std::string& name, const std::string& text) {
    all.push_back({name, text});
  };
  AddScalarOperators(add);
  for (const std::string& type : kTypes) {
    AddCastsAndConstants(type, add);
    for (const std::string dims : {"[8,8]", "[0,8]", "[8,0]", "[1,1]"}) {
      AddRows(type, dims, add);
      AddReductions(type, dims, add);
    }
    AddWindows(type, add);
    AddConvolutions(type, add);
    AddAttentions(type, add);
    AddIndexed(type, add);
    AddMovement(type, add);
  }
  AddSelections(add);
  return all;
}

}  // namespace mlc::server
