// SPDX-License-Identifier: Apache-2.0
// The canonical text of replies; see reply_parser.h.

#include <array>
#include <string>

#include "resp/numbers.h"
#include "resp/reply_parser.h"

namespace mayfly {
namespace {

using Kind = ReplyValue::Kind;

void append_quoted(std::string& out, std::string_view bytes) {
  constexpr std::string_view kHex = "0123456789abcdef";
  out += '"';
  for (const char byte : bytes) {
    const auto code = static_cast<unsigned char>(byte);
    if (byte == '\n') {
      out += "\\n";
    } else if (byte == '\r') {
      out += "\\r";
    } else if (byte == '\t') {
      out += "\\t";
    } else if (byte == '"' || byte == '\\') {
      out.append(1, '\\').append(1, byte);
    } else if (code < 32 || code >= 127) {
      out.append("\\x").append(1, kHex[code / 16]).append(1, kHex[code % 16]);
    } else {
      out += byte;
    }
  }
  out += '"';
}

void append_items(std::string& out, const ReplyValue& value, std::string_view brackets) {
  out += brackets[0];
  for (std::size_t i = 0; i < value.items.size(); ++i) {
    const bool after_key = value.kind == Kind::map && i % 2 == 1;
    if (i > 0) out += after_key ? ": " : ", ";
    out += value.items[i].to_text();
  }
  out += brackets[1];
}

}  // namespace

std::string ReplyValue::to_text() const {
  std::string out;
  switch (kind) {
    case Kind::simple:
      out = text;
      break;
    case Kind::error:
      out.append("(error) ").append(text);
      break;
    case Kind::integer:
      out.append("(integer) ").append(std::to_string(integer));
      break;
    case Kind::bulk:
      append_quoted(out, text);
      break;
    case Kind::null:
      out = "(nil)";
      break;
    case Kind::number:
      out.append("(double) ").append(format_double(number));
      break;
    case Kind::boolean:
      out = integer != 0 ? "(true)" : "(false)";
      break;
    case Kind::verbatim:
      out = "(verbatim) ";
      append_quoted(out, text);
      break;
    case Kind::big_number:
      out.append("(big) ").append(text);
      break;
    case Kind::map:
      append_items(out, *this, "{}");
      break;
    case Kind::set:
      out = "(set) ";
      append_items(out, *this, "[]");
      break;
    case Kind::push:
      out = "(push) ";
      append_items(out, *this, "[]");
      break;
    case Kind::array:
    case Kind::attribute:
      append_items(out, *this, "[]");
      break;
  }
  return out;
}

std::string replies_to_text(std::string_view bytes) {
  std::string out;
  ReplyParser parser;
  for (;;) {
    const Parsed parsed = parser.parse(bytes);
    bytes.remove_prefix(parser.consumed());
    if (parsed == Parsed::request) {
      out.append(parser.value().to_text()).append("\n");
      continue;
    }
    if (parsed == Parsed::error) out.append("(malformed) ").append(parser.error()).append("\n");
    if (parsed == Parsed::incomplete && !bytes.empty()) out += "(incomplete)\n";
    return out;
  }
}

}  // namespace mayfly
