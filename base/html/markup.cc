#include "base/html/markup.h"

#include "base/html/style.h"
#include "base/utf8.h"

namespace mlc::html {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

// Characters that XML 1.0 forbids, that show nothing, or that reorder what stands around them.
bool IsShown(char32_t c) {
  if (c < 0x20) return c == '\n' || c == '\t';
  if (c >= 0x7f && c <= 0x9f) return false;
  if (c == 0x200e || c == 0x200f || (c >= 0x202a && c <= 0x202e)) return false;
  if (c >= 0x2066 && c <= 0x2069) return false;
  return (c & 0xfffe) != 0xfffe;
}

std::string Escaped(std::string_view text) {
  std::string html;
  html.reserve(text.size());
  while (!text.empty()) {
    const Utf8Character c = FirstCharacter(text);
    if (!c.valid || !IsShown(c.code)) {
      html += kReplacement;
    } else if (c.code == '&') {
      html += "&amp;";
    } else if (c.code == '<') {
      html += "&lt;";
    } else if (c.code == '>') {
      html += "&gt;";
    } else if (c.code == '"') {
      html += "&quot;";
    } else if (c.code == '\'') {
      html += "&#39;";
    } else {
      html += text.substr(0, c.bytes);
    }
    text.remove_prefix(c.bytes);
  }
  return html;
}

}  // namespace

Markup::Markup(std::string_view text) : html_(Escaped(text)) {}

Markup Markup::Trusted(std::string html) {
  Markup markup;
  markup.html_ = std::move(html);
  return markup;
}

Markup& Markup::operator+=(const Markup& more) {
  html_ += more.html_;
  return *this;
}

Markup Element(std::string_view tag, const Markup& content, Attributes attributes) {
  std::string html = "<" + std::string(tag);
  for (const auto& [name, value] : attributes) {
    html += " " + std::string(name) + "=\"" + Escaped(value) + "\"";
  }
  return Markup::Trusted(html + ">" + content.html() + "</" + std::string(tag) + ">");
}

Markup Paragraph(const Markup& content) { return Element("p", content) + Markup::Trusted("\n"); }

Markup Section(std::string_view id, const Markup& title, const Markup& content) {
  return Element("section", Element("h2", title) + Markup::Trusted("\n") + content, {{"id", id}}) +
         Markup::Trusted("\n");
}

Markup Details(const Markup& summary, const Markup& content, bool open) {
  const Markup inner = Element("summary", summary) + Markup::Trusted("\n") + content;
  const Markup all =
      open ? Element("details", inner, {{"open", "open"}}) : Element("details", inner);
  return all + Markup::Trusted("\n");
}

Markup Table(const Markup& caption, const std::vector<Column>& columns,
             const std::vector<std::vector<Markup>>& rows) {
  Markup head;
  for (const Column& column : columns) {
    head += Element("th", column.title,
                    {{"scope", "col"}, {"class", column.is_number ? "number" : "text"}});
  }
  Markup body;
  for (const std::vector<Markup>& row : rows) {
    Markup cells;
    for (size_t i = 0; i < row.size(); ++i) {
      cells += Element("td", row[i], {{"class", columns[i].is_number ? "number" : "text"}});
    }
    body += Element("tr", cells) + Markup::Trusted("\n");
  }
  const Markup table =
      Element("table", Element("caption", caption) + Element("thead", Element("tr", head)) +
                           Element("tbody", body));
  // The frame can be reached with the keyboard, so that it can be scrolled without a mouse.
  return Element("div", table, {{"class", "scroll"}, {"tabindex", "0"}}) + Markup::Trusted("\n");
}

Markup Grid(const std::vector<Markup>& figures) {
  Markup all;
  for (const Markup& figure : figures) all += figure;
  return Element("div", all, {{"class", "grid"}}) + Markup::Trusted("\n");
}

std::string PageText(std::string_view title, const Markup& body) {
  std::string html =
      "<!DOCTYPE html>\n"
      "<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\" />\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
      "style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\" />\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\" />\n"
      "<meta name=\"color-scheme\" content=\"light dark\" />\n"
      "<meta name=\"referrer\" content=\"no-referrer\" />\n";
  html += Element("title", title).html() + "\n<style>" + std::string(PageStyle()) +
          "</style>\n</head>\n<body>\n";
  return html + Element("main", body).html() + "\n</body>\n</html>\n";
}

}  // namespace mlc::html
