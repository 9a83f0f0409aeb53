// SPDX-License-Identifier: Apache-2.0
#include "cli/store/store_shell_editor.h"

#include <fcntl.h>
#include <histedit.h>
#include <langinfo.h>
#include <unistd.h>

#include <algorithm>
#include <clocale>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "tools/files.h"
#include "tools/terminal/text_table.h"

namespace mayfly {
namespace {

constexpr int kHistoryLines = 1000;

// The history may contain stored data: only the owner may read the file.
void append_to(const std::string& path, std::string_view text, int flags) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0600);
  if (file < 0) return;
  [[maybe_unused]] const ssize_t written = ::write(file, text.data(), text.size());
  ::close(file);
}

std::vector<std::string> read_lines(const std::string& path) {
  std::vector<std::string> lines;
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return lines;
  Result<InputLines> input = InputLines::open(path);
  while (input && input->next()) lines.emplace_back(input->line());
  return lines;
}

// The common prefix.
std::string common_beginning(const std::vector<std::string>& words) {
  std::string common = words.front();
  for (const std::string& word : words) {
    const auto end = std::ranges::mismatch(common, word).in1;
    common.erase(end, common.end());
  }
  // Not in the middle of a character.
  while (!common.empty() && common.size() < words.front().size() &&
         (static_cast<unsigned char>(words.front()[common.size()]) & 0xC0) == 0x80) {
    common.pop_back();
  }
  return common;
}

}  // namespace

struct LineEditor::State {
  Complete complete;
  std::string path;
  std::string prompt;
  EditLine* editor = nullptr;
  History* history = nullptr;

  static State& of(EditLine* editor) {
    void* state = nullptr;
    el_get(editor, EL_CLIENTDATA, &state);
    return *static_cast<State*>(state);
  }

  static char* show_prompt(EditLine* editor) { return of(editor).prompt.data(); }

  static unsigned char on_tab(EditLine* editor, int) { return of(editor).complete_word(); }

  // Ctrl-C: leaves the line on the screen without running it.
  static unsigned char on_interrupt(EditLine* editor, int) {
    const LineInfo& line = *el_line(editor);
    const std::string_view after(line.cursor,
                                 static_cast<std::size_t>(line.lastchar - line.cursor));
    const std::string_view all(line.buffer, static_cast<std::size_t>(line.lastchar - line.buffer));
    const auto length = static_cast<int>(display_width(all));
    el_cursor(editor, static_cast<int>(display_width(after)));
    el_deletestr(editor, length);
    el_insertstr(editor, "\n");  // an empty line, not the end of the input
    std::fputs("^C\n", stdout);
    return CC_NEWLINE;
  }

  static unsigned char on_suspend(EditLine*, int) {
    std::raise(SIGTSTP);  // libedit restores the terminal before and after
    return CC_REDISPLAY;
  }

  unsigned char complete_word() {
    const LineInfo& line = *el_line(editor);
    const std::string_view before(line.buffer, static_cast<std::size_t>(line.cursor - line.buffer));
    const Completion found = complete(before);
    if (found.words.empty()) return CC_REFRESH_BEEP;
    const std::string typed(before.substr(before.size() - found.typed));
    std::string better = found.is_cut ? typed : common_beginning(found.words);
    if (found.words.size() == 1 && !found.is_cut) better += ' ';
    if (better.size() <= typed.size()) return show_choice(found);
    el_deletestr(editor,
                 static_cast<int>(display_width(typed)));  // it counts characters, not bytes
    return el_insertstr(editor, better.c_str()) == 0 ? CC_REFRESH : CC_REFRESH_BEEP;
  }

  static unsigned char show_choice(const Completion& found) {
    std::string text = "\n";
    for (const std::string& word : found.words) text += word + "  ";
    text += found.is_cut ? "...\n" : "\n";
    std::fputs(text.c_str(), stdout);
    std::fflush(stdout);
    return CC_REDISPLAY;
  }

  void add_to_history(const char* line) {
    HistEvent event;
    ::history(history, &event, H_ENTER, line);
  }

  void load_history() {
    const std::vector<std::string> lines = read_lines(path);
    const std::size_t most = kHistoryLines;
    const std::size_t first = lines.size() > most ? lines.size() - most : 0;
    std::string kept;
    for (std::size_t i = first; i < lines.size(); ++i) {
      add_to_history(lines[i].c_str());
      kept += lines[i] + "\n";
    }
    if (lines.size() > 2 * most) append_to(path, kept, O_TRUNC);
  }
};

LineEditor::LineEditor(Complete complete, std::string history) : state_(std::make_unique<State>()) {
  // Needed to type letters that are not ASCII.
  std::setlocale(LC_CTYPE, "");
  if (std::string_view(nl_langinfo(CODESET)) != "UTF-8") std::setlocale(LC_CTYPE, "C.UTF-8");
  State& state = *state_;
  state.complete = std::move(complete);
  state.path = std::move(history);
  state.history = history_init();
  HistEvent event;
  ::history(state.history, &event, H_SETSIZE, kHistoryLines);
  ::history(state.history, &event, H_SETUNIQUE, 1);
  state.load_history();

  state.editor = el_init("mayfly", stdin, stdout, stderr);
  EditLine* const editor = state.editor;
  el_set(editor, EL_CLIENTDATA, &state);
  el_set(editor, EL_PROMPT, &State::show_prompt);
  el_set(editor, EL_HIST, ::history, state.history);
  el_set(editor, EL_EDITOR, "emacs");
  el_set(editor, EL_SIGNAL, 1);
  el_set(editor, EL_ADDFN, "mayfly-complete", "Complete a command or a key", &State::on_tab);
  el_set(editor, EL_ADDFN, "mayfly-interrupt", "Leave this line", &State::on_interrupt);
  el_set(editor, EL_ADDFN, "mayfly-suspend", "Back to the other shell", &State::on_suspend);
  el_set(editor, EL_BIND, "^I", "mayfly-complete", nullptr);
  el_set(editor, EL_BIND, "^R", "em-inc-search-prev", nullptr);
  el_set(editor, EL_SETTY, "-d", "-isig", nullptr);  // Ctrl-C and Ctrl-Z are keys like others
  el_set(editor, EL_BIND, "^C", "mayfly-interrupt", nullptr);
  el_set(editor, EL_BIND, "^Z", "mayfly-suspend", nullptr);
  el_source(editor, nullptr);  // ~/.editrc
}

LineEditor::~LineEditor() {
  el_end(state_->editor);
  history_end(state_->history);
}

std::optional<std::string> LineEditor::read(const std::string& prompt) {
  state_->prompt = prompt;
  int length = 0;
  el_set(state_->editor, EL_PREP_TERM, 1);  // before the prompt, so that keys typed early count
  const char* const read = el_gets(state_->editor, &length);
  if (read == nullptr || length <= 0) return std::nullopt;
  std::string line(read, static_cast<std::size_t>(length));
  if (line.ends_with('\n')) line.pop_back();
  if (line.empty() || line[0] == ' ') return line;
  state_->add_to_history(line.c_str());
  if (!state_->path.empty()) {
    std::error_code ignored;
    const std::filesystem::path directory = std::filesystem::path(state_->path).parent_path();
    std::filesystem::create_directories(directory, ignored);
    append_to(state_->path, line + "\n", O_APPEND);
  }
  return line;
}

std::string history_path() {
  if (const char* const chosen = std::getenv("MAYFLY_HISTORY")) return chosen;
  const char* const state = std::getenv("XDG_STATE_HOME");
  if (state != nullptr && *state == '/') return std::string(state) + "/mayfly/history";
  const char* const home = std::getenv("HOME");
  return home == nullptr ? "" : std::string(home) + "/.local/state/mayfly/history";
}

}  // namespace mayfly
