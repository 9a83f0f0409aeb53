// SPDX-License-Identifier: Apache-2.0
// StreamFixture: what the tests of the stream commands have in common.

#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "commands/call_fixture.h"

namespace mayfly {

inline constexpr std::string_view kStreamWrongType =
    "(error) WRONGTYPE Operation against a key holding the wrong kind of value";
inline constexpr std::string_view kStreamSyntax = "(error) ERR syntax error";
inline constexpr std::string_view kWrongId =
    "(error) ERR Invalid stream ID specified as stream command argument";

class StreamFixture : public CallFixture {
 protected:
  explicit StreamFixture(const KeyspaceOptions& options = {}) : CallFixture(options) {}

  static KeyspaceOptions with_block_entries(std::size_t entries) {
    KeyspaceOptions options;
    options.stream_limits.block_entries = entries;
    return options;
  }

  // The reply without quotes, commas and "(integer)": [[1-0 [f v]] [2-0 [f v]]].
  std::string flat(std::string_view line) { return without_marks(run(line)); }

  static std::string without_marks(std::string text) {
    constexpr std::string_view kInteger = "(integer) ";
    if (text.starts_with("(error)")) return text;
    std::erase_if(text, [](char c) { return c == '"' || c == ','; });
    std::size_t at = 0;
    while ((at = text.find(kInteger, at)) != text.npos) text.erase(at, kInteger.size());
    return text;
  }

  // Entries 1-0 to n-0 of the stream `s`, each with a field f.
  void add_entries(int n) {
    for (int i = 1; i <= n; ++i) run("XADD s " + std::to_string(i) + " f " + std::to_string(i));
  }

  void put_string(std::string_view key) { database().put_string(context(), key, "text"); }

  // ---- Waiting ----

  // Lets the next commands wait, and returns what the last one waits for.
  void allow_waits() { may_wait_ = true; }
  const std::optional<KeyWait>& waited() const { return wait_; }

  // Runs a command that must wait: there is no reply.
  void run_waiting(const std::vector<std::string_view>& words) {
    wait_.reset();
    EXPECT_EQ(raw(words), "");
    EXPECT_TRUE(wait_);
  }

 private:
  bool wait_for(Call&, const KeyWait& wait) override {
    if (!may_wait_) return false;
    wait_ = wait;
    return true;
  }

  bool may_wait_ = false;
  std::optional<KeyWait> wait_;
};

}  // namespace mayfly
