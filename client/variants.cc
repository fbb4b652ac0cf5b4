#include "client/variants.h"

#include <cstdio>
#include <utility>

#include "client/choose_kernels.h"

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

Variant Faster(Variant usual, Variant apart) {
  const double usual_ns = MeasuredNs(usual), apart_ns = MeasuredNs(apart);
  if (apart_ns <= 0 || (usual_ns > 0 && usual_ns <= apart_ns)) return usual;
  char text[160];
  if (usual_ns > 0) {
    std::snprintf(text, sizeof(text),
                  "products of one value stay apart: %.3f ms by the log, merged %.3f ms",
                  apart_ns / 1e6, usual_ns / 1e6);
  } else {
    std::snprintf(text, sizeof(text),
                  "products of one value stay apart: %.3f ms by the log, merged not measured",
                  apart_ns / 1e6);
  }
  apart.note = text;
  return apart;
}

}  // namespace mlc::client
