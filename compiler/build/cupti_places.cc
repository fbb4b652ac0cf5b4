#include "compiler/build/cupti_places.h"

namespace mlc::build {

std::vector<std::string> CuptiCandidates(const std::string& cuda_home) {
  std::vector<std::string> places;
  for (const char* name : {"libcupti.so.13", "libcupti.so.12", "libcupti.so"}) {
    for (const std::string& home : {cuda_home, std::string("/usr/local/cuda")}) {
      if (home.empty()) continue;
      for (const char* folder : {"/lib64/", "/extras/CUPTI/lib64/", "/lib/", "/nvidia/cu13/lib/",
                                 "/nvidia/cuda_cupti/lib/"}) {
        places.push_back(home + folder + name);
      }
    }
    places.emplace_back(name);
  }
  return places;
}

}  // namespace mlc::build
