// SPDX-License-Identifier: Apache-2.0
// HttpRequestParser: reads requests of HTTP/1.1 (RFC 9112) from the bytes of a connection.
//
//   HttpRequestParser parser;
//   switch (parser.parse(input.view())) {
//     case HttpParsed::incomplete: input.want(parser.wanted()); break;   // call again with more
//     case HttpParsed::head:       ...                  // the head is whole, its body is not
//     case HttpParsed::request:    use(parser.request(), parser.body(view)),
//                                  input.consume(parser.consumed()), parser.reset(); break;
//     case HttpParsed::error:      answer(parser.status(), parser.error()); // and close
//   }
//
// `parse` takes all bytes since the begin of the request each time, and looks at none twice but
// for the last line. It keeps a copy of the head only.
//
// What could be read in two ways is refused: other line ends than CRLF, folded headers, two lengths
// or two hosts, spaces before a colon, control characters, and every Transfer-Encoding. A body has
// a Content-Length. Limits: see HttpLimits.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mayfly {

struct HttpLimits {
  std::size_t head_bytes = 16 * 1024;
  std::size_t headers = 100;
  std::size_t body_bytes = 1 << 20;
};

struct HttpRequest {
  std::string method;  // "GET"
  std::string path;    // "/api/expired", as it was sent: nothing is decoded
  std::string query;   // what follows the "?", without it
  bool is_keep_alive = true;
  bool expects_continue = false;
  std::uint64_t content_length = 0;
  std::vector<std::pair<std::string, std::string>> headers;  // names in lower case

  // The value of a header, by its name in lower case; empty if there is none. Of several, the
  // first: those that matter are refused if they come twice.
  std::string_view header(std::string_view name) const;
  bool has_header(std::string_view name) const;

  // The value of a parameter of the query, not decoded; empty if there is none.
  std::string_view parameter(std::string_view name) const;
};

enum class HttpParsed { incomplete, head, request, error };

class HttpRequestParser {
 public:
  explicit HttpRequestParser(const HttpLimits& limits = {}) : limits_(limits) {}

  // `bytes` begin with the first byte of the request. `head` is returned once for each request that
  // has a body which is not there yet.
  HttpParsed parse(std::string_view bytes);

  const HttpRequest& request() const { return request_; }  // after head or request
  std::string_view body(std::string_view bytes) const {    // after request
    return bytes.substr(head_bytes_, consumed() - head_bytes_);
  }
  std::size_t consumed() const { return wanted_; }  // after request: its bytes

  // After incomplete: how many bytes there must be in all, if that is known; else 0.
  std::size_t wanted() const { return wanted_; }

  int status() const { return status_; }  // after an error: 400, 413, 431, 501 or 505
  const std::string& error() const { return error_; }

  // Forgets the request: the next one begins with the next bytes.
  void reset();

 private:
  HttpParsed fail(int status, std::string_view error);
  HttpParsed read_head(std::string_view head);
  bool read_request_line(std::string_view line);
  bool read_header(std::string_view line);
  bool read_headers_meaning();

  HttpLimits limits_;
  HttpRequest request_;
  std::size_t scanned_ = 0;     // bytes in which the head does not end
  std::size_t head_bytes_ = 0;  // 0: the head is not whole
  std::size_t wanted_ = 0;
  int status_ = 0;
  std::string error_;
};

}  // namespace mayfly
