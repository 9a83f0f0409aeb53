// SPDX-License-Identifier: Apache-2.0
#include "capi/handle_parts.h"

#include <algorithm>
#include <atomic>
#include <new>
#include <string>
#include <vector>

#include "capi/per_thread.h"

namespace mayfly::internal {
namespace {

// So many handles have a message in each thread; the oldest is forgotten.
constexpr std::size_t kMost = 16;

struct Message {
  std::uint64_t handle;
  std::string text;
};

using ThreadMessages = PerThread<std::vector<Message>>;

const ThreadMessages& thread_messages() {
  static const ThreadMessages messages;
  return messages;
}

}  // namespace

std::uint64_t new_number() noexcept {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

std::uint64_t thread_number() noexcept {
  thread_local const std::uint64_t number = new_number();
  return number;
}

void Messages::set(std::string_view text) const noexcept {
  try {
    std::vector<Message>& messages = thread_messages().get();
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
  try {
    const std::vector<Message>* const messages = thread_messages().find();
    if (messages == nullptr) return nullptr;
    const auto found = std::ranges::find(*messages, handle_, &Message::handle);
    return found == messages->end() ? nullptr : found->text.c_str();
  } catch (const std::bad_alloc&) {  // then there is no message, either
    return nullptr;
  }
}

}  // namespace mayfly::internal
