// HTML that is safe by its type: text becomes Markup only by escaping, so text of a model, a log or
// a compiler cannot end an element or an attribute. Elements are written in XML form, so a page is
// also a well-formed XML document. Values; thread-compatible.
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
  // Returns `html` as Markup without escaping. Only for markup that the code itself writes, never
  // for other text.
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
// A table that scrolls horizontally if it is wider than the screen. REQUIRES: as many cells in a
// row as columns.
Markup Table(const Markup& caption, const std::vector<Column>& columns,
             const std::vector<std::vector<Markup>>& rows);
// Charts side by side if the screen is wide enough, else one below the other.
Markup Grid(const std::vector<Markup>& figures);

// The whole document: one file that loads no other file, runs no script, and has a content-security
// policy that forbids both.
std::string PageText(std::string_view title, const Markup& body);

}  // namespace mlc::html
