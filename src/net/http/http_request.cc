// SPDX-License-Identifier: Apache-2.0
#include "net/http/http_request.h"

#include <algorithm>
#include <charconv>

namespace mayfly {
namespace {

constexpr std::string_view kLineEnd = "\r\n";
constexpr std::string_view kHeadEnd = "\r\n\r\n";

bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }

bool is_letter(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z');
}

// Of method and header names (RFC 9110, 5.6.2).
bool is_token(std::string_view text) {
  constexpr std::string_view kOthers = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::ranges::all_of(text, [&](char letter) {
    return is_letter(letter) || is_digit(letter) || kOthers.find(letter) != kOthers.npos;
  });
}

// Visible ASCII.
bool is_target(std::string_view text) {
  return text.starts_with('/') &&
         std::ranges::all_of(text, [](char letter) { return letter > ' ' && letter <= '~'; });
}

bool is_value(std::string_view text) {
  return std::ranges::all_of(text, [](char letter) {
    const auto byte = static_cast<unsigned char>(letter);
    return byte == '\t' || (byte >= 0x20 && byte != 0x7F);
  });
}

char lower(char letter) {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

std::string lowered(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), lower);
  return result;
}

std::string_view trimmed(std::string_view text) {
  const auto is_space = [](char letter) { return letter == ' ' || letter == '\t'; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

// Whether a list such as "keep-alive, Upgrade" has this word.
bool has_word(std::string_view list, std::string_view word) {
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    if (lowered(trimmed(list.substr(0, comma))) == word) return true;
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return false;
}

}  // namespace

std::string_view HttpRequest::header(std::string_view name) const {
  for (const auto& [each, value] : headers) {
    if (each == name) return value;
  }
  return {};
}

bool HttpRequest::has_header(std::string_view name) const {
  return std::ranges::any_of(headers, [&](const auto& each) { return each.first == name; });
}

std::string_view HttpRequest::parameter(std::string_view name) const {
  std::string_view rest = query;
  while (!rest.empty()) {
    const std::string_view one = rest.substr(0, rest.find('&'));
    const std::size_t equals = std::min(one.find('='), one.size());
    if (one.substr(0, equals) == name) return one.substr(std::min(equals + 1, one.size()));
    rest.remove_prefix(std::min(one.size() + 1, rest.size()));
  }
  return {};
}

void HttpRequestParser::reset() { *this = HttpRequestParser(limits_); }

HttpParsed HttpRequestParser::fail(int status, std::string_view error) {
  status_ = status;
  error_ = error;
  return HttpParsed::error;
}

HttpParsed HttpRequestParser::parse(std::string_view bytes) {
  if (status_ != 0) return HttpParsed::error;
  bool is_new = false;
  if (head_bytes_ == 0) {
    const std::size_t from = scanned_ - std::min(scanned_, kHeadEnd.size() - 1);
    const std::size_t end = bytes.find(kHeadEnd, from);
    const std::size_t size = end == bytes.npos ? bytes.size() : end + kHeadEnd.size();
    if (size > limits_.head_bytes) {
      return fail(431, "the request line and the headers are too long");
    }
    // What can't become a request is refused before its head is whole.
    const std::string_view start = bytes.substr(0, size);
    if (start.substr(scanned_).find('\0') != start.npos)
      return fail(400, "a zero byte in the head");
    scanned_ = bytes.size();
    if (end == bytes.npos) return HttpParsed::incomplete;
    if (read_head(bytes.substr(0, end)) == HttpParsed::error) return HttpParsed::error;
    head_bytes_ = size;
    wanted_ = head_bytes_ + request_.content_length;
    is_new = true;
  }
  if (bytes.size() >= wanted_) return HttpParsed::request;
  return is_new ? HttpParsed::head : HttpParsed::incomplete;
}

// `head` ends with its last line, without the line end.
HttpParsed HttpRequestParser::read_head(std::string_view head) {
  std::size_t end = std::min(head.find(kLineEnd), head.size());
  if (!read_request_line(head.substr(0, end))) return HttpParsed::error;
  while (end < head.size()) {
    head.remove_prefix(end + kLineEnd.size());
    end = std::min(head.find(kLineEnd), head.size());
    if (!read_header(head.substr(0, end))) return HttpParsed::error;
  }
  return read_headers_meaning() ? HttpParsed::head : HttpParsed::error;
}

bool HttpRequestParser::read_request_line(std::string_view line) {
  const auto wrong = [&](int status, std::string_view text) {
    fail(status, text);
    return false;
  };
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  if (first == line.npos || first == last) {
    return wrong(400, "the request line is not 'METHOD /path HTTP/1.1'");
  }
  const std::string_view method = line.substr(0, first);
  const std::string_view target = line.substr(first + 1, last - first - 1);
  const std::string_view version = line.substr(last + 1);
  const bool is_version = version.size() == 8 && version.starts_with("HTTP/") &&
                          is_digit(version[5]) && version[6] == '.' && is_digit(version[7]);
  if (!is_version) return wrong(400, "the request line does not end with a version of HTTP");
  if (version[5] != '1') return wrong(505, "only HTTP/1.1 and HTTP/1.0 are supported");
  if (!is_token(method)) return wrong(400, "the method has characters that no method has");
  if (!is_target(target)) return wrong(400, "the target must be a path that begins with '/'");
  request_.method = method;
  const std::size_t question = std::min(target.find('?'), target.size());
  request_.path = target.substr(0, question);
  request_.query = target.substr(std::min(question + 1, target.size()));
  request_.is_keep_alive = version[7] != '0';
  return true;
}

bool HttpRequestParser::read_header(std::string_view line) {
  const auto wrong = [&](int status, std::string_view text) {
    fail(status, text);
    return false;
  };
  if (request_.headers.size() == limits_.headers) return wrong(431, "too many headers");
  const std::size_t colon = line.find(':');
  if (colon == line.npos || !is_token(line.substr(0, colon))) {
    return wrong(400, "a header is not 'Name: value'");
  }
  const std::string_view value = trimmed(line.substr(colon + 1));
  if (!is_value(value)) return wrong(400, "a header has control characters");
  request_.headers.emplace_back(lowered(line.substr(0, colon)), value);
  return true;
}

bool HttpRequestParser::read_headers_meaning() {
  const auto wrong = [&](int status, std::string_view text) {
    fail(status, text);
    return false;
  };
  for (const std::string_view name :
       {"content-length", "host", "origin", "authorization", "cookie", "sec-fetch-site"}) {
    const auto count = std::ranges::count(
        request_.headers, name, [](const auto& each) { return std::string_view(each.first); });
    if (count > 1) return wrong(400, "a header that may come once comes twice");
  }
  if (request_.has_header("transfer-encoding")) {
    return wrong(501, "Transfer-Encoding is not supported: send a Content-Length");
  }
  const bool is_11 = request_.is_keep_alive;
  if (is_11 && !request_.has_header("host")) return wrong(400, "the header Host is missing");
  for (const auto& [name, value] : request_.headers) {
    if (name != "connection") continue;
    if (has_word(value, "close")) request_.is_keep_alive = false;
    if (!is_11 && has_word(value, "keep-alive")) request_.is_keep_alive = true;
  }
  if (request_.has_header("content-length")) {
    const std::string_view text = request_.header("content-length");
    const char* const end = text.data() + text.size();
    const auto [stopped, failure] = std::from_chars(text.data(), end, request_.content_length);
    const bool is_long = failure == std::errc::result_out_of_range;
    const bool is_number = !text.empty() && is_digit(text[0]) && stopped == end;
    if (!is_number && !is_long) return wrong(400, "Content-Length is not a number");
    if (is_long || request_.content_length > limits_.body_bytes) {
      return wrong(413, "the body is too long");
    }
  }
  if (request_.has_header("expect")) {
    if (lowered(request_.header("expect")) != "100-continue") {
      return wrong(417, "of Expect only 100-continue is supported");
    }
    request_.expects_continue = true;
  }
  return true;
}

}  // namespace mayfly
