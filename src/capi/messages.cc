// SPDX-License-Identifier: Apache-2.0
#include "capi/messages.h"

#include <algorithm>
#include <new>
#include <string>
#include <vector>

namespace mayfly {
namespace {

// Handles of which a thread remembers a message; the one that it heard of first is forgotten.
constexpr std::size_t kMost = 16;

struct Message {
  std::uint64_t handle;
  std::string text;
};

std::vector<Message>& of_this_thread() {
  thread_local std::vector<Message> messages;
  return messages;
}

}  // namespace

void Messages::set(std::string_view text) const noexcept {
  try {
    std::vector<Message>& messages = of_this_thread();
    const auto found = std::ranges::find(messages, handle_, &Message::handle);
    if (found != messages.end()) {
      found->text = text;
      return;
    }
    if (messages.size() == kMost) messages.erase(messages.begin());
    messages.push_back({handle_, std::string(text)});
  } catch (const std::bad_alloc&) {
    // The code that the call returns says enough.
  }
}

const char* Messages::get() const noexcept {
  const std::vector<Message>& messages = of_this_thread();
  const auto found = std::ranges::find(messages, handle_, &Message::handle);
  return found == messages.end() ? nullptr : found->text.c_str();
}

}  // namespace mayfly
