// SPDX-License-Identifier: Apache-2.0
// Fuzzes the reader of configuration files: whatever the file says, it ends with an error or with a
// configuration whose values can all be shown and set again. Files that name other files are left
// out, since those would be read.

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "server/config/config.h"

namespace {

bool names_files(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text.find("include") != std::string::npos || text.find("dir") != std::string::npos;
}

// What is shown is what can be set.
void check(const mayfly::Config& config) {
  for (const std::string_view name : mayfly::directive_names()) {
    const auto shown = mayfly::directive_text(config, name);
    if (!shown) std::abort();
    mayfly::Config again;
    const std::vector<std::string> words = {*shown};
    const auto set = mayfly::set_directive(again, name, words, true);
    if (set && mayfly::directive_text(again, name) == shown) continue;
    std::fprintf(stderr, "%s: '%s' cannot be set again\n", std::string(name).c_str(),
                 shown->c_str());
    std::abort();
  }
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(data, data + size);
  if (names_files(text)) return 0;
  const std::string path =
      std::filesystem::temp_directory_path() / ("mayfly-config-fuzz-" + std::to_string(::getpid()));
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
  mayfly::Config config;
  std::vector<std::string> warnings;
  const bool strict = size % 2 == 1;
  const bool loaded = mayfly::load_config_file(config, path, warnings, strict).ok();
  std::filesystem::remove(path);
  if (loaded) check(config);
  return 0;
}
