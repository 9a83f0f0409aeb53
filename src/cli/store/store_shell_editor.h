// SPDX-License-Identifier: Apache-2.0
// LineEditor: asks a person for lines, who can edit them, call up old ones and complete words.
//
// It is libedit and not readline: that one's licence, the GPL, would become ours.

#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mayfly {

// What the word before the cursor may become.
struct Completion {
  std::size_t typed = 0;           // how many bytes before the cursor it has
  std::vector<std::string> words;  // in full
  bool is_cut = false;             // there are more than these
};

class LineEditor {
 public:
  using Complete = std::function<Completion(std::string_view before)>;

  // Lines that are not told otherwise (a space in front) are remembered in the file `history`. If
  // it cannot be read or written, that does not matter.
  LineEditor(Complete complete, std::string history);
  ~LineEditor();

  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;

  // The next line, without its end; nothing at the end of the input (Ctrl-D).
  std::optional<std::string> read(const std::string& prompt);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// MAYFLY_HISTORY, or mayfly/history in XDG_STATE_HOME or in ~/.local/state. Empty if there is no
// place for it.
std::string history_path();

}  // namespace mayfly
