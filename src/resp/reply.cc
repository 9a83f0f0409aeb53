// SPDX-License-Identifier: Apache-2.0
#include "resp/reply.h"

#include <array>
#include <cassert>
#include <charconv>
#include <cstring>
#include <utility>

#include "resp/numbers.h"

namespace mayfly {
namespace {

constexpr std::size_t kHeadMax = 24;        // a letter, 20 digits with a sign, and the line's end
constexpr std::size_t kSmallBulkMax = 100;  // bytes that are gathered first, to be appended once

// Writes a letter, a number and the end of the line. Returns where it ends.
template <class Number>
char* write_head(char* to, char letter, Number number) {
  *to++ = letter;
  if (std::cmp_less(number, 10) && std::cmp_greater_equal(number, 0)) {
    *to++ = static_cast<char>('0' + number);
  } else {
    to = std::to_chars(to, to + kHeadMax, number).ptr;
  }
  *to++ = '\r';
  *to++ = '\n';
  return to;
}

template <class Number>
void append_head(std::string& out, char letter, Number number) {
  std::array<char, kHeadMax + 1> head;
  const char* const end = write_head(head.data(), letter, number);
  out.append(head.data(), static_cast<std::size_t>(end - head.data()));
}

void insert_head(std::string& out, std::size_t place, char letter, std::size_t number) {
  assert(place <= out.size());
  std::array<char, kHeadMax + 1> head;
  const char* const end = write_head(head.data(), letter, number);
  out.insert(place, head.data(), static_cast<std::size_t>(end - head.data()));
}

void append_bulk(std::string& out, char letter, std::string_view bytes) {
  if (bytes.size() > kSmallBulkMax) {
    append_head(out, letter, bytes.size());
    out.append(bytes).append("\r\n", 2);
    return;
  }
  std::array<char, kHeadMax + kSmallBulkMax + 2> all;
  char* end = write_head(all.data(), letter, bytes.size());
  if (!bytes.empty()) std::memcpy(end, bytes.data(), bytes.size());
  end += bytes.size();
  *end++ = '\r';
  *end++ = '\n';
  out.append(all.data(), static_cast<std::size_t>(end - all.data()));
}

void append_line(std::string& out, char letter, std::string_view text) {
  out += letter;
  const std::size_t begin = out.size();
  out += text;
  for (std::size_t i = begin; i < out.size(); ++i) {
    if (out[i] == '\r' || out[i] == '\n') out[i] = ' ';
  }
  out.append("\r\n", 2);
}

}  // namespace

void Reply::simple(std::string_view text) { append_line(*out_, '+', text); }

void Reply::error(std::string_view text) { append_line(*out_, '-', text); }

void Reply::integer(std::int64_t value) { append_head(*out_, ':', value); }

void Reply::bulk(std::string_view bytes) { append_bulk(*out_, '$', bytes); }

void Reply::bulk_integer(std::int64_t value) {
  std::array<char, kHeadMax> digits;
  const char* const end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  bulk({digits.data(), static_cast<std::size_t>(end - digits.data())});
}

void Reply::null() { out_->append(protocol_ == 2 ? "$-1\r\n" : "_\r\n"); }

void Reply::null_array() { out_->append(protocol_ == 2 ? "*-1\r\n" : "_\r\n"); }

void Reply::number(double value) {
  constexpr double kSmall = 1e15;  // integers below it are written fast
  const bool is_small = value > -kSmall && value < kSmall && value != 0;
  if (is_small && protocol_ == 2) {
    const auto integer = static_cast<std::int64_t>(value);
    if (static_cast<double>(integer) == value) return bulk_integer(integer);
  }
  const std::string text = format_double(value);
  if (protocol_ == 2) return bulk(text);
  append_line(*out_, ',', text);
}

void Reply::boolean(bool value) {
  if (protocol_ == 2) return integer(value ? 1 : 0);
  out_->append(value ? "#t\r\n" : "#f\r\n");
}

void Reply::verbatim(std::string_view format, std::string_view text) {
  assert(format.size() == 3);
  if (protocol_ == 2) return bulk(text);
  append_head(*out_, '=', text.size() + 4);
  out_->append(format).append(1, ':').append(text).append("\r\n");
}

void Reply::big_number(std::string_view digits) {
  if (protocol_ == 2) return bulk(digits);
  append_line(*out_, '(', digits);
}

void Reply::array(std::size_t count) { append_head(*out_, '*', count); }

void Reply::map(std::size_t count) {
  if (protocol_ == 2) return array(2 * count);
  append_head(*out_, '%', count);
}

void Reply::set(std::size_t count) { append_head(*out_, protocol_ == 2 ? '*' : '~', count); }

void Reply::push(std::size_t count) { append_head(*out_, protocol_ == 2 ? '*' : '>', count); }

void Reply::array_at(std::size_t place, std::size_t count) {
  insert_head(*out_, place, '*', count);
}

void Reply::map_at(std::size_t place, std::size_t count) {
  if (protocol_ == 2) return array_at(place, 2 * count);
  insert_head(*out_, place, '%', count);
}

void Reply::set_at(std::size_t place, std::size_t count) {
  insert_head(*out_, place, protocol_ == 2 ? '*' : '~', count);
}

}  // namespace mayfly
