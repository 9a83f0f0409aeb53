// SPDX-License-Identifier: Apache-2.0
// DEBUG PROTOCOL: a reply of each type, for the tests of clients.

#include <algorithm>

#include "commands/call.h"
#include "commands/words.h"
#include "server/monitoring/debug_handlers.h"

namespace mayfly {
namespace {

void reply_numbers(Reply& reply) {
  for (int i = 0; i < 3; ++i) reply.integer(i);
}

void string(Reply& reply) { reply.bulk("Hello World"); }
void integer(Reply& reply) { reply.integer(12'345); }
void number(Reply& reply) { reply.number(3.141); }
void null(Reply& reply) { reply.null(); }

void array(Reply& reply) {
  reply.array(3);
  reply_numbers(reply);
}

void set(Reply& reply) {
  reply.set(3);
  reply_numbers(reply);
}

void map(Reply& reply) {
  reply.map(3);
  for (int i = 0; i < 3; ++i) {
    reply.integer(i);
    reply.boolean(i == 1);
  }
}

// An attribute stands before the reply it is about. RESP2 has none.
void attribute(Reply& reply) {
  if (reply.protocol() == 3) {
    reply.raw("|1\r\n");
    reply.bulk("key-popularity");
    reply.array(2);
    reply.bulk("key:123");
    reply.integer(90);
  }
  reply.bulk("Some real reply following the attribute");
}

void push(Reply& reply) {
  if (reply.protocol() == 2) return reply.error("ERR RESP2 is not supported by this command");
  reply.push(2);
  reply.bulk("server-cpu-usage");
  reply.integer(42);
  reply.bulk("Some real reply following the push reply");
}

void verbatim(Reply& reply) { reply.verbatim("txt", "This is a verbatim\nstring"); }
void yes(Reply& reply) { reply.boolean(true); }
void no(Reply& reply) { reply.boolean(false); }
void big_number(Reply& reply) { reply.big_number("1234567999999999999999999999999999999"); }

struct Type {
  std::string_view name;
  void (*reply)(Reply&);
};
constexpr Type kTypes[] = {
    {"string", string},    {"integer", integer}, {"double", number},     {"bignum", big_number},
    {"null", null},        {"array", array},     {"set", set},           {"map", map},
    {"attrib", attribute}, {"push", push},       {"verbatim", verbatim}, {"true", yes},
    {"false", no},
};

}  // namespace

// DEBUG PROTOCOL type
void debug_protocol(Call& call) {
  const auto found = std::ranges::find_if(
      kTypes, [&](const Type& type) { return equals(call.word(2), type.name); });
  if (found != std::end(kTypes)) return found->reply(call.reply());
  call.fail(
      "ERR Wrong protocol type name. Please use one of the following: "
      "string|integer|double|bignum|null|array|set|map|attrib|push|verbatim|true|false");
}

}  // namespace mayfly
