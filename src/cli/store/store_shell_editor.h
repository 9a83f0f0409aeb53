// SPDX-License-Identifier: Apache-2.0
// LineEditor: reads lines from a terminal, with editing, history and completion.
//
// libedit, not readline: the licence of readline is the GPL.

#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mayfly {

// Completions of the word before the cursor.
struct Completion {
  std::size_t typed = 0;           // bytes of the word before the cursor
  std::vector<std::string> words;  // whole words
  bool is_cut = false;             // there are more
};

class LineEditor {
 public:
  using Complete = std::function<Completion(std::string_view before)>;

  // Lines are kept in the file `history`, except those that start with a space. Errors of the file
  // are ignored.
  LineEditor(Complete complete, std::string history);
  ~LineEditor();

  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;

  // The next line without the newline; nothing at the end of the input (Ctrl-D).
  std::optional<std::string> read(const std::string& prompt);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// MAYFLY_HISTORY, or mayfly/history in XDG_STATE_HOME or in ~/.local/state. Empty without a home
// directory.
std::string history_path();

}  // namespace mayfly
