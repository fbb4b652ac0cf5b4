// What all pages have.
#include <utility>

#include "server/page/views.h"

namespace mlc::server::page {
namespace {

using html::Element;
using html::Markup;
using html::Paragraph;

constexpr std::pair<const char*, const char*> kPlaces[] = {
    {"jobs", "Jobs"}, {"workers", "Workers"}, {"queue", "Queue"}, {"best", "Best configs"}};

Markup Navigation(const std::string& place) {
  Markup items;
  for (const auto& [name, title] : kPlaces) {
    const std::string path = "/" + std::string(name);
    items += Element("li", place == name
                               ? Element("a", title, {{"href", path}, {"aria-current", "page"}})
                               : Element("a", title, {{"href", path}}));
  }
  return Element("nav", Element("ul", items), {{"aria-label", "Main"}});
}

Markup Hidden(const std::string& name, const std::string& value) {
  return Markup::Trusted("<input type=\"hidden\" name=\"" + Markup(name).html() + "\" value=\"" +
                         Markup(value).html() + "\" />");
}

Markup Who(const Visitor* visitor) {
  if (visitor == nullptr) return {};
  Markup who = Element("span", visitor->caller.local ? "local" : visitor->caller.ToText());
  if (visitor->has_session) {
    who += Element("form",
                   Hidden("secret", visitor->form_secret) +
                       Element("button", "Log out", {{"type", "submit"}, {"class", "quiet"}}),
                   {{"method", "post"}, {"action", "/logout"}});
  }
  return Element("div", who, {{"class", "who"}});
}

}  // namespace

std::string UrlEncoded(const std::string& text) {
  std::string encoded;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_' || c == '.' || c == '~';
    if (plain) {
      encoded += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    encoded += '%';
    encoded += "0123456789ABCDEF"[byte >> 4];
    encoded += "0123456789ABCDEF"[byte & 15];
  }
  return encoded;
}

std::string DocumentText(const Frame& frame, const Markup& body) {
  std::string html =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\" />\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\" />\n"
      "<meta name=\"color-scheme\" content=\"light dark\" />\n"
      "<link rel=\"icon\" href=\"data:,\" />\n"
      "<link rel=\"stylesheet\" href=\"/assets/report.css\" />\n"
      "<link rel=\"stylesheet\" href=\"/assets/page.css\" />\n"
      "<script src=\"/assets/page.js\" defer=\"defer\"></script>\n";
  html += Element("title", frame.title + " - mlc-server").html() + "\n</head>\n<body>\n";
  html += Element("a", "Skip to the content", {{"class", "skip"}, {"href", "#content"}}).html();
  html += Element("header", Navigation(frame.place) + Who(frame.visitor)).html() + "\n";
  html += Element("main", body, {{"id", "content"}, {"tabindex", "-1"}}).html();
  return html + "\n</body>\n</html>\n";
}

Markup LivePart(const std::string& feed, const Markup& now) {
  return Element("p", "", {{"id", "live-state"}, {"class", "dim"}, {"role", "status"}}) +
         Element("div", now, {{"id", "live"}, {"data-feed", feed}}) + Markup::Trusted("\n");
}

Markup ActionForm(const Visitor& visitor, const Action& action) {
  Markup content = Paragraph(action.explanation) + Hidden("secret", visitor.form_secret);
  for (const auto& [name, value] : action.fields) content += Hidden(name, value);
  if (action.asks_reason) {
    content += Element(
        "label", Markup("Reason ") + Markup::Trusted("<input name=\"reason\" maxlength=\"200\" "
                                                     "required=\"required\" />"));
  }
  content += Element("button", action.label, {{"type", "submit"}});
  return html::Details(action.label,
                       Element("form", content, {{"method", "post"}, {"action", action.path}}));
}

Markup LoginView(const std::string& secret, bool takes_tokens, const std::string& error) {
  Markup body = Element("h1", "Log in");
  if (!error.empty()) body += Element("p", error, {{"role", "alert"}, {"class", "error"}});
  if (!takes_tokens) {
    return body + Paragraph(
                      "This server knows its callers by their certificates: import yours "
                      "into the browser.");
  }
  body += Paragraph("Give your token, or import your certificate into the browser.");
  const Markup label =
      Element("label", Markup("Token ") + Markup::Trusted("<input name=\"token\" type=\"password\" "
                                                          "autocomplete=\"current-password\" "
                                                          "required=\"required\" />"));
  return body + Element("form",
                        Hidden("secret", secret) + label +
                            Element("button", "Log in", {{"type", "submit"}}),
                        {{"method", "post"}, {"action", "/login"}});
}

Markup ErrorView(const Status& status) {
  return Element("h1", "That did not work") +
         Element("p", status.message(), {{"role", "alert"}, {"class", "error"}}) +
         Element("p", Element("a", "Jobs", {{"href", "/jobs"}}));
}

}  // namespace mlc::server::page
