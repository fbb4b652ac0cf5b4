// A request to the live page and its answer, apart from the library that reads and writes them.
// Plain values.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/tls/tls_server.h"

namespace mlc::server::page {

struct HttpRequest {
  std::string method;
  std::string path;  // decoded, without the query
  bool has_query = false;
  std::map<std::string, std::string> fields;  // of the query or, of a POST, the form
  std::string host;
  std::string origin;
  std::string fetch_site;  // Sec-Fetch-Site
  std::string cookie;
  std::string authorization;
  transport::TlsPeer peer;

  // Empty if there is none.
  std::string Field(const std::string& name) const;
};

struct HttpReply {
  int status = 200;
  std::string type = "text/html; charset=utf-8";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;
  bool known = false;  // the caller has proved who it is: its connection is kept before others
  // A stream instead of the body: the next piece, after a wait; nothing at its end.
  std::function<std::optional<std::string>()> next;
};

}  // namespace mlc::server::page
