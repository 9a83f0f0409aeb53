// SPDX-License-Identifier: Apache-2.0
// Requests of HTTP, whole and in pieces, right and wrong; and responses.

#include "net/http/http_request.h"

#include <gtest/gtest.h>

#include <string>

#include "net/http/http_response.h"

namespace mayfly {
namespace {

// The status of the error, or 0 if it is a request, or -1 if it is not whole.
int http_status_of(std::string_view bytes, const HttpLimits& limits = {}) {
  HttpRequestParser parser(limits);
  HttpParsed parsed = parser.parse(bytes);
  if (parsed == HttpParsed::error) return parser.status();
  return parsed == HttpParsed::request ? 0 : -1;
}

TEST(HttpRequestTest, ReadsARequestByteByByte) {
  const std::string text =
      "POST /api/command?a=1&since=22 HTTP/1.1\r\nHost: localhost:8379\r\nX-Mayfly:  console \r\n"
      "Content-Length: 5\r\n\r\nhello";
  const std::string more = text + "GET / HTTP/1.1\r\n";
  HttpRequestParser parser;
  for (std::size_t size = 0; size < text.size(); ++size) {
    const HttpParsed parsed = parser.parse(std::string_view(text).substr(0, size));
    const bool is_head_end = size == text.size() - 5;
    ASSERT_EQ(parsed, is_head_end ? HttpParsed::head : HttpParsed::incomplete) << size;
    EXPECT_EQ(parser.wanted(), size < text.size() - 5 ? 0 : text.size());
  }
  ASSERT_EQ(parser.parse(more), HttpParsed::request);
  EXPECT_EQ(parser.consumed(), text.size());
  EXPECT_EQ(parser.body(more), "hello");
  EXPECT_EQ(parser.request().method, "POST");
  EXPECT_EQ(parser.request().path, "/api/command");
  EXPECT_EQ(parser.request().parameter("since"), "22");
  EXPECT_EQ(parser.request().parameter("sinc"), "");
  EXPECT_EQ(parser.request().header("x-mayfly"), "console");
  EXPECT_TRUE(parser.request().is_keep_alive);
  parser.reset();
  EXPECT_EQ(parser.parse("GET / HTTP/1.1\r\nHost: a\r\n\r\n"), HttpParsed::request);
  EXPECT_TRUE(parser.request().query.empty());
}

TEST(HttpRequestTest, KeepsConnectionsAliveByTheVersion) {
  const auto keeps = [](std::string_view bytes) {
    HttpRequestParser parser;
    EXPECT_EQ(parser.parse(bytes), HttpParsed::request) << bytes;
    return parser.request().is_keep_alive;
  };
  EXPECT_TRUE(keeps("GET / HTTP/1.1\r\nHost: a\r\n\r\n"));
  EXPECT_FALSE(keeps("GET / HTTP/1.1\r\nHost: a\r\nConnection: x, Close\r\n\r\n"));
  EXPECT_FALSE(keeps("GET / HTTP/1.0\r\n\r\n"));
  EXPECT_TRUE(keeps("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"));
}

TEST(HttpRequestTest, RefusesWhatIsDoubtful) {
  EXPECT_EQ(http_status_of("GET / HTTP/1.1\r\n\r\n"), 400);  // no host
  EXPECT_EQ(http_status_of("GET / HTTP/2.0\r\nHost: a\r\n\r\n"), 505);
  EXPECT_EQ(http_status_of("GET /\r\nHost: a\r\n\r\n"), 400);
  EXPECT_EQ(http_status_of("GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n"), 400);
  EXPECT_EQ(http_status_of("G\x01T / HTTP/1.1\r\nHost: a\r\n\r\n"), 400);
  EXPECT_EQ(http_status_of("GET / x HTTP/1.1\r\nHost: a\r\n\r\n"), 400);
  EXPECT_EQ(http_status_of("GET / HTTP/1.1\r\nHost : a\r\n\r\n"), 400);
  EXPECT_EQ(http_status_of("GET / HTTP/1.1\r\nHost: a\r\n folded\r\n\r\n"), 400);
  EXPECT_EQ(http_status_of("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"), 400);
  EXPECT_EQ(http_status_of("GET / HTTP/1.1\r\nHost: a\nX: b\r\n\r\n"), 400);
  EXPECT_EQ(http_status_of("\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"), 400);
  const std::string head = "POST / HTTP/1.1\r\nHost: a\r\n";
  EXPECT_EQ(http_status_of(head + "Content-Length: 1\r\nContent-Length: 1\r\n\r\na"), 400);
  EXPECT_EQ(http_status_of(head + "Content-Length: +1\r\n\r\na"), 400);
  EXPECT_EQ(http_status_of(head + "Content-Length: 1,1\r\n\r\na"), 400);
  EXPECT_EQ(http_status_of(head + "Content-Length: \r\n\r\na"), 400);
  EXPECT_EQ(http_status_of(head + "Content-Length: 99999999999999999999\r\n\r\n"), 413);
  EXPECT_EQ(http_status_of(head + "Content-Length: 1048577\r\n\r\n"), 413);
  EXPECT_EQ(http_status_of(head + "Transfer-Encoding: chunked\r\n\r\n"), 501);
  EXPECT_EQ(http_status_of(head + "Expect: the worst\r\n\r\n"), 417);
  EXPECT_EQ(http_status_of(std::string_view("\x16\x03\x01\0", 4)), 400);  // TLS
}

TEST(HttpRequestTest, HasLimitsOnHeaders) {
  const std::string head = "GET / HTTP/1.1\r\nHost: a\r\n";
  EXPECT_EQ(http_status_of(std::string(16 * 1024, 'a')), -1);
  EXPECT_EQ(http_status_of(std::string(16 * 1024 + 1, 'a')), 431);
  std::string many = head;
  for (int i = 0; i < 99; ++i) many += "A: b\r\n";
  EXPECT_EQ(http_status_of(many + "\r\n"), 0);
  EXPECT_EQ(http_status_of(many + "A: b\r\n\r\n"), 431);
}

TEST(HttpResponseTest, WritesHeadersOfSafety) {
  std::string out;
  http_error(403, "no \"such\"\n").write(out, false, true);
  EXPECT_TRUE(out.starts_with("HTTP/1.1 403 Forbidden\r\nContent-Type: application/json\r\n"));
  EXPECT_NE(out.find("frame-ancestors 'none'"), out.npos);
  EXPECT_NE(out.find("Cache-Control: no-store"), out.npos);
  EXPECT_TRUE(out.ends_with("\r\n\r\n{\"error\":\"no \\\"such\\\"?\"}\n"));
  std::string head;
  http_text(200, "ok\n").write(head, true, false);
  EXPECT_NE(head.find("Content-Length: 3\r\n"), head.npos);
  EXPECT_TRUE(head.ends_with("Connection: close\r\n\r\n"));
}

}  // namespace
}  // namespace mayfly
