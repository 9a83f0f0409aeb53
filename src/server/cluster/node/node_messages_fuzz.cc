// SPDX-License-Identifier: Apache-2.0
// Fuzzes the messages between nodes: a request whose words are separated by spaces, or a reply.
// What is read as a message is written, and read again.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "server/cluster/node/node_messages.h"

namespace mayfly {
namespace {

std::vector<std::string_view> split_words(std::string_view text) {
  std::vector<std::string_view> words;
  while (true) {
    const std::size_t space = text.find(' ');
    words.push_back(text.substr(0, space));
    if (space == text.npos) return words;
    text.remove_prefix(space + 1);
  }
}

template <class Read>
void check_request(Read read, const std::vector<std::string_view>& words) {
  const auto message = read(words);
  if (!message) return;
  const std::vector<std::string> again = to_request(message->shard, message->message);
  if (again.size() != words.size()) std::abort();
  if (!read(std::vector<std::string_view>(again.begin(), again.end()))) std::abort();
}

template <class Read>
void check_reply(Read read, const ReplyValue& reply) {
  const auto answer = read(reply);
  if (!answer) return;
  std::string bytes;
  Reply out(bytes, 2);
  write_reply(out, *answer);
  ReplyParser parser;
  if (parser.parse(bytes) != Parsed::request || !read(parser.value())) std::abort();
}

}  // namespace
}  // namespace mayfly

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::vector<std::string_view> words = mayfly::split_words(text);
  mayfly::check_request(mayfly::read_pulse, words);
  mayfly::check_request(mayfly::read_canvass, words);
  mayfly::ReplyParser parser;
  if (parser.parse(text) == mayfly::Parsed::request) {
    mayfly::check_reply(mayfly::read_pulse_reply, parser.value());
    mayfly::check_reply(mayfly::read_canvass_reply, parser.value());
  }
  return 0;
}
