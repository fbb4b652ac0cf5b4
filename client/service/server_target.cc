#include "client/service/server_target.h"

#include <algorithm>
#include <cstdio>
#include <map>

#include "base/machine/cpus.h"
#include "client/target/target_choice.h"
#include "compiler/backend/backend.h"

namespace mlc::client {
namespace {

bool IsWord(const std::string& text) { return text == "cpu" || text == "cuda"; }

Result<target::Target> Here(const std::string& text, int threads) {
  return ChooseTarget(text, target::ThreadsFor(threads));
}

Result<target::Target> Choose(const std::vector<std::string>& texts, const std::string& word,
                              int threads) {
  const Result<target::Target> here = Here(word, threads);
  Result<target::Target> chosen = ClassAmong(texts, word, threads, here);
  if (chosen.ok() && !(here.ok() && here->ClassText() == chosen->ClassText())) {
    std::fprintf(stderr, "--target %s: the server's '%s'\n", word.c_str(),
                 chosen->ClassText().c_str());
  }
  return chosen;
}

}  // namespace

Result<target::Target> ClassAmong(const std::vector<std::string>& texts, const std::string& word,
                                  int threads, const Result<target::Target>& here) {
  std::map<std::string, target::Target> classes;
  for (const std::string& text : texts) {
    const Result<target::Target> target = target::Target::Parse(text);
    if (!target.ok() || backend::BackendOf(*target).name != word) continue;
    const auto* cpu = target->As<target::CpuTarget>();
    if (threads > 0 && cpu != nullptr && cpu->threads != threads) continue;
    classes.emplace(target->ClassText(), MLC_TRY(target::Target::Parse(target->ClassText())));
  }
  if (classes.empty() || (here.ok() && classes.contains(here->ClassText()))) return here;
  if (classes.size() == 1) return classes.begin()->second;
  std::string list;
  for (const auto& [text, target] : classes) list += "\n  --target '" + text + "'";
  return InvalidArgument("the server knows several classes that --target " + word +
                         " may mean: give one of" + list);
}

Result<std::vector<std::string>> TargetsOfWorkers(TunerClient& server) {
  std::vector<std::string> texts;
  const proto::ListWorkersReply known = MLC_TRY(server.Workers());
  for (const proto::WorkerLine& worker : known.workers()) {
    if (worker.state() != proto::OFFLINE) texts.push_back(worker.target());
  }
  return texts;
}

Result<std::vector<std::string>> TargetsOfRecords(TunerClient& server) {
  const proto::BestReply known = MLC_TRY(server.Best({}));
  return std::vector<std::string>{known.targets().begin(), known.targets().end()};
}

Result<target::Target> TargetOfWorkers(TunerClient& server, const std::string& text, int threads) {
  if (!IsWord(text)) return Here(text, threads);
  return Choose(MLC_TRY(TargetsOfWorkers(server)), text, threads);
}

Result<target::Target> TargetOfRecords(TunerClient& server, const std::string& text, int threads) {
  if (!IsWord(text)) return Here(text, threads);
  return Choose(MLC_TRY(TargetsOfRecords(server)), text, threads);
}

}  // namespace mlc::client
