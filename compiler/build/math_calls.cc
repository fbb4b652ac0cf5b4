#include "compiler/build/math_calls.h"

#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <string>

namespace mlc::build {
namespace {

struct Function {
  std::string_view name;
  void* address;
};

template <typename Call>
void* AddressOf(Call* call) {
  return reinterpret_cast<void*>(call);
}

using Double = double(double);
using Float = float(float);
using Double2 = double(double, double);
using Float2 = float(float, float);
using Double3 = double(double, double, double);
using Float3 = float(float, float, float);

// Functions without any effect but on the memory that they are given. Those that set errno are
// called without it (-fno-math-errno).
const Function kFunctions[] = {
    {"memcpy", AddressOf<void*(void*, const void*, size_t)>(std::memcpy)},
    {"memmove", AddressOf<void*(void*, const void*, size_t)>(std::memmove)},
    {"memset", AddressOf<void*(void*, int, size_t)>(std::memset)},
    {"acos", AddressOf<Double>(::acos)},
    {"acosf", AddressOf<Float>(::acosf)},
    {"acosh", AddressOf<Double>(::acosh)},
    {"acoshf", AddressOf<Float>(::acoshf)},
    {"asin", AddressOf<Double>(::asin)},
    {"asinf", AddressOf<Float>(::asinf)},
    {"asinh", AddressOf<Double>(::asinh)},
    {"asinhf", AddressOf<Float>(::asinhf)},
    {"atan", AddressOf<Double>(::atan)},
    {"atan2", AddressOf<Double2>(::atan2)},
    {"atan2f", AddressOf<Float2>(::atan2f)},
    {"atanf", AddressOf<Float>(::atanf)},
    {"atanh", AddressOf<Double>(::atanh)},
    {"atanhf", AddressOf<Float>(::atanhf)},
    {"cbrt", AddressOf<Double>(::cbrt)},
    {"cbrtf", AddressOf<Float>(::cbrtf)},
    {"ceil", AddressOf<Double>(::ceil)},
    {"ceilf", AddressOf<Float>(::ceilf)},
    {"cos", AddressOf<Double>(::cos)},
    {"cosf", AddressOf<Float>(::cosf)},
    {"cosh", AddressOf<Double>(::cosh)},
    {"coshf", AddressOf<Float>(::coshf)},
    {"erf", AddressOf<Double>(::erf)},
    {"erfc", AddressOf<Double>(::erfc)},
    {"erfcf", AddressOf<Float>(::erfcf)},
    {"erff", AddressOf<Float>(::erff)},
    {"exp", AddressOf<Double>(::exp)},
    {"exp2", AddressOf<Double>(::exp2)},
    {"exp2f", AddressOf<Float>(::exp2f)},
    {"expf", AddressOf<Float>(::expf)},
    {"expm1", AddressOf<Double>(::expm1)},
    {"expm1f", AddressOf<Float>(::expm1f)},
    {"floor", AddressOf<Double>(::floor)},
    {"floorf", AddressOf<Float>(::floorf)},
    {"fma", AddressOf<Double3>(::fma)},
    {"fmaf", AddressOf<Float3>(::fmaf)},
    {"fmax", AddressOf<Double2>(::fmax)},
    {"fmaxf", AddressOf<Float2>(::fmaxf)},
    {"fmin", AddressOf<Double2>(::fmin)},
    {"fminf", AddressOf<Float2>(::fminf)},
    {"fmod", AddressOf<Double2>(::fmod)},
    {"fmodf", AddressOf<Float2>(::fmodf)},
    {"hypot", AddressOf<Double2>(::hypot)},
    {"hypotf", AddressOf<Float2>(::hypotf)},
    {"log", AddressOf<Double>(::log)},
    {"log10", AddressOf<Double>(::log10)},
    {"log10f", AddressOf<Float>(::log10f)},
    {"log1p", AddressOf<Double>(::log1p)},
    {"log1pf", AddressOf<Float>(::log1pf)},
    {"log2", AddressOf<Double>(::log2)},
    {"log2f", AddressOf<Float>(::log2f)},
    {"logf", AddressOf<Float>(::logf)},
    {"nearbyint", AddressOf<Double>(::nearbyint)},
    {"nearbyintf", AddressOf<Float>(::nearbyintf)},
    {"pow", AddressOf<Double2>(::pow)},
    {"powf", AddressOf<Float2>(::powf)},
    {"rint", AddressOf<Double>(::rint)},
    {"rintf", AddressOf<Float>(::rintf)},
    {"round", AddressOf<Double>(::round)},
    {"roundf", AddressOf<Float>(::roundf)},
    {"sin", AddressOf<Double>(::sin)},
    {"sincos", AddressOf<void(double, double*, double*)>(::sincos)},
    {"sincosf", AddressOf<void(float, float*, float*)>(::sincosf)},
    {"sinf", AddressOf<Float>(::sinf)},
    {"sinh", AddressOf<Double>(::sinh)},
    {"sinhf", AddressOf<Float>(::sinhf)},
    {"sqrt", AddressOf<Double>(::sqrt)},
    {"sqrtf", AddressOf<Float>(::sqrtf)},
    {"tan", AddressOf<Double>(::tan)},
    {"tanf", AddressOf<Float>(::tanf)},
    {"tanh", AddressOf<Double>(::tanh)},
    {"tanhf", AddressOf<Float>(::tanhf)},
    {"trunc", AddressOf<Double>(::trunc)},
    {"truncf", AddressOf<Float>(::truncf)},
};

// The name that the ABI of vector functions gives them; libmvec has no others.
constexpr std::string_view kVectorPrefix = "_ZGV";

void* VectorMath(int more_flags) {
  return dlopen("libmvec.so.1", RTLD_NOW | RTLD_LOCAL | more_flags);
}

}  // namespace

void OpenVectorMath() {
  static const void* const library = VectorMath(0);
  (void)library;
}

void* FindMathFunction(std::string_view name) {
  if (!name.starts_with(kVectorPrefix)) {
    const auto* found = std::find_if(std::begin(kFunctions), std::end(kFunctions),
                                     [&](const Function& known) { return known.name == name; });
    return found == std::end(kFunctions) ? nullptr : found->address;
  }
  void* const library = VectorMath(RTLD_NOLOAD);
  if (library == nullptr) return nullptr;
  void* const address = dlsym(library, std::string(name).c_str());
  (void)dlclose(library);  // OpenVectorMath keeps it
  return address;
}

}  // namespace mlc::build
