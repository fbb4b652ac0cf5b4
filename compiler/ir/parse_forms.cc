// Statements that begin with a keyword, read by their forms (statement_forms.h).
#include <string>
#include <vector>

#include "compiler/ir/parser.h"
#include "compiler/ir/statement_forms.h"

namespace mlc::ir {

// A visitor of forms: reads each part into the node. After the first error nothing more is read.
class Parser::FormReader {
 public:
  FormReader(Parser& parser, int depth) : parser_(parser), depth_(depth) {}

  void Place(BufferId& buffer, ExprRef& index) {
    Open(buffer, index);
    Close();
  }
  void Open(BufferId& buffer, ExprRef& index) {
    Step([&]() -> Status {
      const std::string name = MLC_TRY(parser_.lexer_.Word());
      buffer = MLC_TRY(parser_.scope_.Find(name));
      return parser_.lexer_.Expect("[");
    });
    Index(index);
  }
  void Close() { Word("]"); }
  void Level(int& value) {
    Step([&]() -> Status {
      MLC_TRY(Inside("level"));
      const int64_t level = MLC_TRY(parser_.lexer_.Int());
      if (level < 1 || level > 2) return parser_.lexer_.Error("a prefetch level is 1 or 2");
      value = static_cast<int>(level);
      return {};
    });
  }
  void Lanes(int& value) {
    Step([&]() -> Status {
      MLC_TRY(Inside("lanes"));
      value = MLC_TRY(parser_.scope_.ParseLanes());
      return {};
    });
  }
  void Mask(ExprRef& index) {
    Step([&]() -> Status {
      if (!parser_.lexer_.Accept(",")) return {};
      MLC_TRY(parser_.lexer_.Expect("mask"));
      MLC_TRY(parser_.lexer_.Expect("="));
      index = MLC_TRY(parser_.expressions_.ParseIndex(depth_));
      return {};
    });
  }
  void Index(ExprRef& index) {
    Step([&]() -> Status {
      index = MLC_TRY(parser_.expressions_.ParseIndex(depth_));
      return {};
    });
  }
  void Optional(std::string_view word, ExprRef& value) {
    if (status_.ok() && parser_.lexer_.Accept(word)) Index(value);
  }
  void Variable(VarId& var) {
    Step([&]() -> Status {
      name_ = MLC_TRY(parser_.scope_.Name("a variable"));
      bound_ = &var;
      return {};
    });
  }
  void Word(std::string_view word) {
    Step([&] { return parser_.lexer_.Expect(word); });
  }
  void Flag(std::string_view word, bool& value) {
    if (status_.ok()) value = parser_.lexer_.Accept(word);
  }
  void Either(std::string_view yes, std::string_view no, bool& value) {
    if (status_.ok()) value = !parser_.lexer_.Accept(no);
    if (value) Word(yes);
  }
  void Int(int64_t& value) {
    Step([&]() -> Status {
      value = MLC_TRY(parser_.lexer_.Int());
      return {};
    });
  }
  void Attribute(std::string_view word, int& value, const char* what) {
    Word(word);
    Word("=");
    Step([&]() -> Status {
      value = MLC_TRY(parser_.scope_.ParseSmall(what));
      return {};
    });
  }
  void Part(std::string_view word, int& value) {
    Step([&]() -> Status {
      // A store to a buffer of that name may follow instead.
      const Lexer before = parser_.lexer_;
      if (parser_.lexer_.Accept(word) && parser_.lexer_.Accept("=")) {
        value = MLC_TRY(parser_.scope_.ParseSmall("part"));
      } else {
        parser_.lexer_ = before;
      }
      return {};
    });
  }

  template <typename Item, typename Parts>
  void Each(std::string_view word, std::vector<Item>& items, Parts parts) {
    while (status_.ok() && parser_.lexer_.Accept(word)) parts(items.emplace_back());
  }

  Status Finish() {
    Step([&]() -> Status {
      if (bound_ != nullptr) *bound_ = MLC_TRY(parser_.scope_.Bind(std::move(name_)));
      return {};
    });
    return status_;
  }

 private:
  template <typename Read>
  void Step(Read read) {
    if (status_.ok()) status_ = read();
  }
  Status Inside(std::string_view word) {
    MLC_TRY(parser_.lexer_.Expect(","));
    MLC_TRY(parser_.lexer_.Expect(word));
    return parser_.lexer_.Expect("=");
  }

  Parser& parser_;
  int depth_;
  Status status_;
  std::string name_;  // of the variable that the statement binds
  VarId* bound_ = nullptr;
};

Result<StmtRef> Parser::ParseForm(int depth) {
  for (const SyncForm& form : kSyncForms) {
    if (!lexer_.Accept(form.keyword)) continue;
    Sync sync{form.kind};
    if (form.counted != nullptr) sync.pending = MLC_TRY(scope_.ParseSmall(form.counted));
    return MakeStmt(sync);
  }
  StmtRef found;
  Status status;
  AnyForm([&]<typename Node>() {
    if (!lexer_.Accept(Form<Node>::kKeyword)) return false;
    Node node{};
    FormReader reader(*this, depth);
    Form<Node>::Parts(reader, node);
    status = reader.Finish();
    found = MakeStmt(std::move(node));
    return true;
  });
  MLC_TRY(status);
  return found;
}

}  // namespace mlc::ir
