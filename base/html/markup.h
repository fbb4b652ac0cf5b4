// HTML that is safe by its type: text becomes Markup only by being escaped, so what a model, a log
// or a compiler wrote cannot end an element or an attribute. Elements are written as XML wants
// them, so a page is also a well-formed XML document. Values; thread-compatible.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mlc::html {

class Markup {
 public:
  Markup() = default;
  // Text, escaped. Bytes that are not UTF-8, control characters but tab and line feed, and
  // characters that change the direction of text become U+FFFD.
  Markup(std::string_view text);
  Markup(const std::string& text) : Markup(std::string_view(text)) {}
  Markup(const char* text) : Markup(std::string_view(text)) {}
  // HTML as it is. For code that writes markup itself; never for text of others.
  static Markup Trusted(std::string html);

  const std::string& html() const { return html_; }
  bool empty() const { return html_.empty(); }
  Markup& operator+=(const Markup& more);
  friend Markup operator+(Markup left, const Markup& right) { return left += right; }

 private:
  std::string html_;
};

using Attributes = std::initializer_list<std::pair<std::string_view, std::string_view>>;
// <tag name="value" ...>content</tag>; the values are escaped.
Markup Element(std::string_view tag, const Markup& content, Attributes attributes = {});
Markup Paragraph(const Markup& content);
// Sections have ids so that links may lead there. REQUIRES: `id` is of letters, digits and hyphens.
Markup Section(std::string_view id, const Markup& title, const Markup& content);
// Folded until the reader opens it; works without a script.
Markup Details(const Markup& summary, const Markup& content, bool open = false);

struct Column {
  Markup title;
  bool is_number = false;  // set to the right, in digits of equal width
};
// Scrolls sideways where it is wider than the screen. REQUIRES: as many cells in a row as columns.
Markup Table(const Markup& caption, const std::vector<Column>& columns,
             const std::vector<std::vector<Markup>>& rows);
// Charts side by side where the screen is wide enough, below each other where it is not.
Markup Grid(const std::vector<Markup>& figures);

// The whole document: one file that loads nothing, runs nothing and forbids both to itself.
std::string PageText(std::string_view title, const Markup& body);

}  // namespace mlc::html
