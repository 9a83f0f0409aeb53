// SPDX-License-Identifier: Apache-2.0
#include "tools/terminal/terminal.h"

#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace mayfly {

bool is_terminal(int descriptor) {
  const char* const kind = std::getenv("TERM");
  return isatty(descriptor) == 1 && (kind == nullptr || std::string_view(kind) != "dumb");
}

bool wants_colours() {
  // Set to anything but nothing, it says no.
  const char* const wish = std::getenv("NO_COLOR");
  return is_terminal(STDOUT_FILENO) && (wish == nullptr || *wish == '\0');
}

}  // namespace mayfly
