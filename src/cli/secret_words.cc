// SPDX-License-Identifier: Apache-2.0
#include "cli/secret_words.h"

#include <algorithm>
#include <string_view>

#include "server/config/config_table.h"

namespace mayfly {
namespace {

constexpr char kHidden = '*';

bool is_secret_option(std::string_view name) {
  return name == "password" || name == "etcd-password" || (marks_of(name) & mark::secret) != 0;
}

void hide(char* begin, char* end) { std::fill(begin, end, kHidden); }

// redis://user:password@host, http://...; several with commas between them are hidden from the
// first password to the end of the last.
void hide_in_url(char* word, std::size_t size) {
  const std::string_view text(word, size);
  const std::size_t scheme = text.find("://");
  const std::size_t host = text.rfind('@');
  if (scheme == text.npos || host == text.npos || host < scheme + 3) return;
  const std::size_t colon = text.find(':', scheme + 3);
  if (colon < host) hide(word + colon + 1, word + host);
}

}  // namespace

std::vector<std::string> take_words(int argc, char** argv) {
  std::vector<std::string> words(argv, argv + argc);
  bool is_value = false;  // of a secret option
  for (int i = 1; i < argc; ++i) {
    char* const word = argv[i];
    const std::string& text = words[static_cast<std::size_t>(i)];
    if (text.starts_with("--") && text.size() > 2) {
      const std::size_t end = std::min(text.find_first_of("= "), text.size());
      is_value = is_secret_option(std::string_view(text).substr(2, end - 2));
      if (is_value && end < text.size()) hide(word + end + 1, word + text.size());
    } else if (is_value) {
      hide(word, word + text.size());
      is_value = false;
    }
    hide_in_url(word, text.size());
  }
  return words;
}

}  // namespace mayfly
