#include "client/compile/variants.h"

#include <cstdio>
#include <utility>

#include "client/compile/choose_kernels.h"
#include "client/model/model_variants.h"
#include "costmodel/plainly_faster.h"

namespace mlc::client {

double MeasuredNs(const Variant& variant) {
  double sum = 0;
  for (size_t i = 0; i < variant.choices.size(); ++i) {
    const package::Choice& choice = variant.choices[i];
    if (!IsTuned(choice) || choice.expected_ns <= 0) return 0;
    sum += variant.program.tasks[i].occurrences * choice.expected_ns;
  }
  return sum;
}

Variant Faster(Variant usual, Variant other) {
  const double usual_ns = MeasuredNs(usual), other_ns = MeasuredNs(other);
  if (other_ns <= 0 || (usual_ns > 0 && !costmodel::PlainlyFaster(other_ns, usual_ns)))
    return usual;
  return other;
}

std::string NoteOn(const Variant& chosen, double usual_ns) {
  if (chosen.difference.empty()) return "";
  const double ns = MeasuredNs(chosen);
  if (ns <= 0) return chosen.difference;
  char text[100];
  std::snprintf(text, sizeof(text), ": %.3f ms by the log, fused ", ns / 1e6);
  std::string note = chosen.difference + text;
  if (usual_ns <= 0) return note + "not measured";
  std::snprintf(text, sizeof(text), "%.3f ms", usual_ns / 1e6);
  return note + text;
}

}  // namespace mlc::client
