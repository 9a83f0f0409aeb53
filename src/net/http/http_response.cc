// SPDX-License-Identifier: Apache-2.0
#include "net/http/http_response.h"

namespace mayfly {
namespace {

// Scripts, styles and connections of the page itself only, nothing inline, in no frame.
constexpr std::string_view kSafety =
    "X-Content-Type-Options: nosniff\r\n"
    "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; connect-src "
    "'self'; img-src 'self' data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'\r\n"
    "X-Frame-Options: DENY\r\n"
    "Referrer-Policy: no-referrer\r\n"
    "Cross-Origin-Resource-Policy: same-origin\r\n";

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  for (const char letter : text) {
    const auto byte = static_cast<unsigned char>(letter);
    if (letter == '"' || letter == '\\') {
      out += '\\';
      out += letter;
    } else if (byte < 0x20 || byte >= 0x7F) {
      out += '?';  // of what somebody sent
    } else {
      out += letter;
    }
  }
  out += '"';
}

}  // namespace

std::string_view http_reason(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 204:
      return "No Content";
    case 304:
      return "Not Modified";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 417:
      return "Expectation Failed";
    case 421:
      return "Misdirected Request";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "Unknown";
  }
}

void HttpResponse::write(std::string& out, bool is_head, bool keeps_alive) const {
  out += "HTTP/1.1 ";
  out += std::to_string(status);
  out += ' ';
  out += http_reason(status);
  out += "\r\n";
  if (!type.empty()) {
    out += "Content-Type: ";
    out += type;
    out += "\r\n";
  }
  // A 204 and a 304 have no body, and say nothing of one.
  const bool has_body = status != 204 && status != 304;
  if (has_body) {
    out += "Content-Length: ";
    out += std::to_string(body.size());
    out += "\r\n";
  }
  bool is_cacheable = false;
  for (const auto& [name, value] : headers) {
    is_cacheable = is_cacheable || name == "Cache-Control";
    out += name;
    out += ": ";
    out += value;
    out += "\r\n";
  }
  if (!is_cacheable) out += "Cache-Control: no-store\r\n";
  out += kSafety;
  out += keeps_alive ? "\r\n" : "Connection: close\r\n\r\n";
  if (has_body && !is_head) out += body;
}

HttpResponse http_text(int status, std::string text) {
  return {status, "text/plain; charset=utf-8", {}, std::move(text)};
}

HttpResponse http_json(int status, std::string json) {
  return {status, "application/json", {}, std::move(json)};
}

HttpResponse http_error(int status, std::string_view error) {
  std::string json = "{\"error\":";
  append_json_string(json, error);
  return http_json(status, json + "}\n");
}

}  // namespace mayfly
