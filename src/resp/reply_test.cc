// SPDX-License-Identifier: Apache-2.0
// The exact bytes of each reply, in both protocols.

#include "resp/reply.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <string>

namespace mayfly {
namespace reply_test {

std::string write(int protocol, const std::function<void(Reply&)>& call) {
  std::string out = "before";
  Reply reply(out, protocol);
  call(reply);
  EXPECT_EQ(out.substr(0, 6), "before");
  return out.substr(6);
}

// What `call` writes in RESP2 and in RESP3.
void expect(const std::function<void(Reply&)>& call, const std::string& resp2,
            const std::string& resp3) {
  EXPECT_EQ(write(2, call), resp2);
  EXPECT_EQ(write(3, call), resp3);
}

void expect_both(const std::function<void(Reply&)>& call, const std::string& bytes) {
  expect(call, bytes, bytes);
}

TEST(Reply, WritesLines) {
  expect_both([](Reply& reply) { reply.ok(); }, "+OK\r\n");
  expect_both([](Reply& reply) { reply.simple("QUEUED"); }, "+QUEUED\r\n");
  expect_both([](Reply& reply) { reply.error("ERR syntax error"); }, "-ERR syntax error\r\n");
}

TEST(Reply, KeepsLineEndsOutOfLines) {
  expect_both([](Reply& reply) { reply.error("ERR unknown 'a\r\nb'"); }, "-ERR unknown 'a  b'\r\n");
  expect_both([](Reply& reply) { reply.simple("a\nb"); }, "+a b\r\n");
}

TEST(Reply, WritesIntegers) {
  expect_both([](Reply& reply) { reply.integer(0); }, ":0\r\n");
  expect_both([](Reply& reply) { reply.integer(9); }, ":9\r\n");
  expect_both([](Reply& reply) { reply.integer(-1); }, ":-1\r\n");
  expect_both([](Reply& reply) { reply.integer(10); }, ":10\r\n");
  expect_both([](Reply& reply) { reply.integer(INT64_MIN); }, ":-9223372036854775808\r\n");
  expect_both([](Reply& reply) { reply.bulk_integer(-42); }, "$3\r\n-42\r\n");
  expect_both([](Reply& reply) { reply.bulk_integer(INT64_MIN); },
              "$20\r\n-9223372036854775808\r\n");
}

TEST(Reply, WritesBulksOfEachLength) {
  for (const std::size_t size : {0, 1, 9, 10, 99, 100, 101, 1000, 100'000}) {
    const std::string bytes(size, '\n');
    expect_both([&](Reply& reply) { reply.bulk(bytes); },
                "$" + std::to_string(size) + "\r\n" + bytes + "\r\n");
  }
  expect_both([](Reply& reply) { reply.bulk({}); }, "$0\r\n\r\n");
}

TEST(Reply, WritesNulls) {
  expect([](Reply& reply) { reply.null(); }, "$-1\r\n", "_\r\n");
  expect([](Reply& reply) { reply.null_array(); }, "*-1\r\n", "_\r\n");
}

TEST(Reply, WritesNumbers) {
  expect([](Reply& reply) { reply.number(1.5); }, "$3\r\n1.5\r\n", ",1.5\r\n");
  expect([](Reply& reply) { reply.number(3); }, "$1\r\n3\r\n", ",3\r\n");
  expect([](Reply& reply) { reply.number(HUGE_VAL); }, "$3\r\ninf\r\n", ",inf\r\n");
  expect([](Reply& reply) { reply.number(-HUGE_VAL); }, "$4\r\n-inf\r\n", ",-inf\r\n");
  expect([](Reply& reply) { reply.number(std::nan("")); }, "$3\r\nnan\r\n", ",nan\r\n");
  expect([](Reply& reply) { reply.big_number("123"); }, "$3\r\n123\r\n", "(123\r\n");
}

TEST(Reply, WritesBooleansAndVerbatims) {
  expect([](Reply& reply) { reply.boolean(true); }, ":1\r\n", "#t\r\n");
  expect([](Reply& reply) { reply.boolean(false); }, ":0\r\n", "#f\r\n");
  expect([](Reply& reply) { reply.verbatim("txt", "a\nb"); }, "$3\r\na\nb\r\n",
         "=7\r\ntxt:a\nb\r\n");
}

TEST(Reply, WritesAggregates) {
  expect_both([](Reply& reply) { reply.array(0); }, "*0\r\n");
  expect_both([](Reply& reply) { reply.array(123); }, "*123\r\n");
  expect([](Reply& reply) { reply.map(6); }, "*12\r\n", "%6\r\n");
  expect([](Reply& reply) { reply.set(2); }, "*2\r\n", "~2\r\n");
  expect([](Reply& reply) { reply.push(3); }, "*3\r\n", ">3\r\n");
  expect_both([](Reply& reply) { reply.raw("+PONG\r\n"); }, "+PONG\r\n");
}

TEST(Reply, InsertsDeferredHeads) {
  const auto nested = [](Reply& reply) {
    reply.ok();
    const std::size_t outer = reply.defer();
    reply.integer(1);
    const std::size_t inner = reply.defer();
    reply.integer(2);
    reply.integer(3);
    reply.map_at(inner, 1);
    const std::size_t empty = reply.defer();
    reply.set_at(empty, 0);
    reply.array_at(outer, 3);
  };
  expect(nested, "+OK\r\n*3\r\n:1\r\n*2\r\n:2\r\n:3\r\n*0\r\n",
         "+OK\r\n*3\r\n:1\r\n%1\r\n:2\r\n:3\r\n~0\r\n");
}

}  // namespace reply_test
}  // namespace mayfly
