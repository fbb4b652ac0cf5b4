#include "compiler/ir/grammar.h"

#include "compiler/ir/statement_forms.h"

namespace mlc::ir {

namespace {

std::string Quote(std::string_view word) { return "\"" + std::string(word) + "\""; }

constexpr size_t kColumns = 100;
constexpr std::string_view kNextLine = "\n    ";

// Writes a form as a rule; the values of the node do not matter.
class GrammarWriter {
 public:
  explicit GrammarWriter(std::string_view keyword) : text_(std::string(keyword) + " :=") {
    Word(keyword);
  }

  void Place(BufferId buffer, const ExprRef& index) {
    Open(buffer, index);
    Close();
  }
  void Open(BufferId /*buffer*/, const ExprRef& /*index*/) { Add("name \"[\" expr"); }
  void Close() { Word("]"); }
  void Level(int /*value*/) { Add("\",\" \"level\" \"=\" int"); }
  void Lanes(int /*value*/) { Add("\",\" \"lanes\" \"=\" int"); }
  void Mask(const ExprRef& /*index*/) { Add("[\",\" \"mask\" \"=\" expr]"); }
  void Index(const ExprRef& /*index*/) { Add("expr"); }
  void Optional(std::string_view word, const ExprRef& /*value*/) {
    Add("[" + Quote(word) + " expr]");
  }
  void Variable(VarId /*var*/) { Add("var"); }
  void Word(std::string_view word) { Add(Quote(word)); }
  void Flag(std::string_view word, bool /*value*/) { Add("[" + Quote(word) + "]"); }
  void Either(std::string_view yes, std::string_view no, bool /*value*/) {
    Add("(" + Quote(yes) + " | " + Quote(no) + ")");
  }
  void Int(int64_t /*value*/) { Add("int"); }
  void Attribute(std::string_view word, int /*value*/, const char* /*what*/) {
    Add(Quote(word) + " \"=\" int");
  }
  void Part(std::string_view word, int /*value*/) { Add("[" + Quote(word) + " \"=\" int]"); }
  template <typename Item, typename Parts>
  void Each(std::string_view word, const std::vector<Item>& /*items*/, Parts parts) {
    Add("{");
    Word(word);
    Item item{};
    parts(item);
    Add("}");
  }

  const std::string& text() const { return text_; }

 private:
  void Add(std::string_view part) {
    const size_t line = text_.size() - (text_.rfind('\n') + 1);  // npos + 1 is 0
    text_ += line + 1 + part.size() > kColumns ? kNextLine : " ";
    text_ += part;
  }

  std::string text_;
};

}  // namespace

std::string StatementGrammar() {
  std::string text = "sync := ";
  const char* between = "";
  for (const SyncForm& form : kSyncForms) {
    text += between + Quote(form.keyword) + (form.counted == nullptr ? "" : " int");
    between = "\n      | ";
  }
  text += '\n';
  AnyForm([&]<typename Node>() {
    GrammarWriter writer(Form<Node>::kKeyword);
    const Node node{};
    Form<Node>::Parts(writer, node);
    text += writer.text() + "\n";
    return false;
  });
  return text;
}

}  // namespace mlc::ir
