// Statements of GPU kernels in the text form.
#include <array>
#include <limits>

#include "compiler/ir/parser.h"

namespace mlc::ir {

Result<StmtRef> Parser::ParseGpuStmt(int depth) {
  constexpr std::array kPlain = {SyncKind::kBarrier,       SyncKind::kWarpBarrier,
                                 SyncKind::kCommitCopies,  SyncKind::kFenceTiles,
                                 SyncKind::kAwaitInputs,   SyncKind::kReleaseDependents,
                                 SyncKind::kClusterBarrier};
  for (const SyncKind kind : kPlain) {
    if (lexer_.Accept(ir::ToText(kind))) return MakeStmt(Sync{kind});
  }
  for (const SyncKind kind : {SyncKind::kWaitCopies, SyncKind::kWaitProducts}) {
    if (lexer_.Accept(ir::ToText(kind))) return ParseWait(kind);
  }
  if (lexer_.Accept("threads")) return ParseFor(LoopKind::kThreads, depth);
  if (lexer_.Accept("copy_async")) return ParseCopyAsync(depth);
  if (lexer_.Accept("load_matrix")) return ParseLoadMatrix(depth);
  if (lexer_.Accept("load_peer")) return ParseLoadPeer(depth);
  if (lexer_.Accept("mma")) return ParseMma(depth);
  if (lexer_.Accept("warpgroup_mma")) return ParseWarpgroupMma(depth);
  if (lexer_.Accept("arrive")) return ParseArrive(depth);
  return StmtRef();
}

Result<int> Parser::ParseSmall(const char* what) {
  const int64_t value = MLC_TRY(lexer_.Int());
  if (value >= 0 && value <= std::numeric_limits<int>::max()) return static_cast<int>(value);
  return lexer_.Error(std::string("bad ") + what);
}

Result<Parser::Place> Parser::ParsePlace(int depth) {
  Place place;
  const std::string name = MLC_TRY(lexer_.Word());
  place.buffer = MLC_TRY(Find(name));
  MLC_TRY(lexer_.Expect("["));
  place.index = MLC_TRY(ParseIndex(depth));
  MLC_TRY(lexer_.Expect("]"));
  return place;
}

Result<StmtRef> Parser::ParseWait(SyncKind kind) {
  const int pending = MLC_TRY(
      ParseSmall(kind == SyncKind::kWaitCopies ? "number of groups" : "number of products"));
  return MakeStmt(Sync{kind, pending});
}

Result<StmtRef> Parser::ParseCopyAsync(int depth) {
  Place to = MLC_TRY(ParsePlace(depth));
  CopyAsync copy{to.buffer, std::move(to.index), -1, nullptr, 1, nullptr};
  MLC_TRY(lexer_.Expect("="));
  const std::string name = MLC_TRY(lexer_.Word());
  copy.from = MLC_TRY(Find(name));
  MLC_TRY(lexer_.Expect("["));
  copy.from_index = MLC_TRY(ParseIndex(depth));
  MLC_TRY(lexer_.Expect(","));
  MLC_TRY(lexer_.Expect("lanes"));
  MLC_TRY(lexer_.Expect("="));
  copy.lanes = MLC_TRY(ParseLanes());
  if (lexer_.Accept(",")) {
    MLC_TRY(lexer_.Expect("mask"));
    MLC_TRY(lexer_.Expect("="));
    copy.mask = MLC_TRY(ParseIndex(depth));
  }
  MLC_TRY(lexer_.Expect("]"));
  return MakeStmt(std::move(copy));
}

Result<StmtRef> Parser::ParseLoadMatrix(int depth) {
  const bool transposed = lexer_.Accept("transposed");
  Place to = MLC_TRY(ParsePlace(depth));
  MLC_TRY(lexer_.Expect("="));
  Place from = MLC_TRY(ParsePlace(depth));
  return MakeStmt(
      LoadMatrix{to.buffer, std::move(to.index), from.buffer, std::move(from.index), transposed});
}

Result<StmtRef> Parser::ParseLoadPeer(int depth) {
  Place to = MLC_TRY(ParsePlace(depth));
  MLC_TRY(lexer_.Expect("="));
  Place from = MLC_TRY(ParsePlace(depth));
  MLC_TRY(lexer_.Expect("of"));
  ExprRef rank = MLC_TRY(ParseIndex(depth));
  return MakeStmt(LoadPeer{to.buffer, std::move(to.index), from.buffer, std::move(from.index),
                           std::move(rank)});
}

Result<StmtRef> Parser::ParseMma(int depth) {
  Place c = MLC_TRY(ParsePlace(depth));
  MLC_TRY(lexer_.Expect("+="));
  Place a = MLC_TRY(ParsePlace(depth));
  MLC_TRY(lexer_.Expect("*"));
  Place b = MLC_TRY(ParsePlace(depth));
  Mma mma{c.buffer, std::move(c.index), a.buffer, std::move(a.index), b.buffer, std::move(b.index)};
  // A store to a buffer of that name may follow instead.
  Lexer before = lexer_;
  if (lexer_.Accept("part") && lexer_.Accept("=")) {
    mma.part = MLC_TRY(ParseSmall("part"));
  } else {
    lexer_ = before;
  }
  return MakeStmt(std::move(mma));
}

Result<StmtRef> Parser::ParseWarpgroupMma(int depth) {
  Place c = MLC_TRY(ParsePlace(depth));
  const bool adds = !lexer_.Accept("=");
  if (adds) MLC_TRY(lexer_.Expect("+="));
  Place a = MLC_TRY(ParsePlace(depth));
  MLC_TRY(lexer_.Expect("*"));
  Place b = MLC_TRY(ParsePlace(depth));
  MLC_TRY(lexer_.Expect("columns"));
  MLC_TRY(lexer_.Expect("="));
  const int columns = MLC_TRY(ParseSmall("number of columns"));
  return MakeStmt(WarpgroupMma{c.buffer, std::move(c.index), a.buffer, std::move(a.index), b.buffer,
                               std::move(b.index), columns, adds});
}

Result<StmtRef> Parser::ParseArrive(int depth) {
  std::string name = MLC_TRY(Name("a variable"));
  MLC_TRY(lexer_.Expect("="));
  Place counter = MLC_TRY(ParsePlace(depth));
  MLC_TRY(lexer_.Expect("of"));
  const int64_t of = MLC_TRY(lexer_.Int());
  const VarId var = MLC_TRY(Bind(std::move(name)));
  return MakeStmt(Arrive{var, counter.buffer, std::move(counter.index), of});
}

}  // namespace mlc::ir
