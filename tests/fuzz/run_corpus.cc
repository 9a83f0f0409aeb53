// SPDX-License-Identifier: Apache-2.0
// Runs a fuzzer over its committed inputs, without libFuzzer: for the unit tests. An input that
// finds a defect ends the program; the last line that was printed names it.
//
//   build/dev/tests/resp.request_fuzz tests/fuzz/request.seeds    one input per line
//   build/dev/tests/resp.request_fuzz FILE...                     each file is an input
//
// scripts/fuzz_seeds.py describes the form of .seeds files.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

int runs = 0;

void run(const std::string& name, std::string_view input) {
  std::printf("%s: %zu bytes\n", name.c_str(), input.size());
  std::fflush(stdout);
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
  ++runs;
}

// Appends what the escape at the start of `text` stands for. Returns its size, or 0 if there is no
// such escape.
std::size_t unescape(std::string_view text, std::string& out) {
  if (text.size() < 2) return 0;
  constexpr std::string_view kLetters = "rnt\\";
  constexpr std::string_view kBytes = "\r\n\t\\";
  if (const std::size_t letter = kLetters.find(text[1]); letter != kLetters.npos) {
    out += kBytes[letter];
    return 2;
  }
  if (text[1] == 'x' && text.size() >= 4) {
    const std::string digits(text.substr(2, 2));
    if (digits.find_first_not_of("0123456789abcdef") != digits.npos) return 0;
    out += static_cast<char>(std::strtoul(digits.c_str(), nullptr, 16));
    return 4;
  }
  const std::size_t end = text.find(';');
  if (text[1] != '*' || out.empty() || end == text.npos || end > 11) return 0;
  const std::string digits(text.substr(2, end - 2));
  if (digits.empty() || digits.find_first_not_of("0123456789") != digits.npos) return 0;
  out.append(std::strtoul(digits.c_str(), nullptr, 10), out.back());
  return end + 1;
}

std::optional<std::string> decode(std::string_view line) {
  std::string input;
  while (!line.empty()) {
    const bool is_escape = line[0] == '\\';
    const std::size_t size = is_escape ? unescape(line, input) : 1;
    if (size == 0) return std::nullopt;
    if (!is_escape) input += line[0];
    line.remove_prefix(size);
  }
  return input;
}

bool run_seeds(const std::string& path, std::istream& in) {
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    if (line.empty() || line[0] == '#') continue;
    const std::string name = path + ":" + std::to_string(number);
    const std::optional<std::string> input = decode(line);
    if (!input) {
      std::fprintf(stderr, "%s: unknown escape\n", name.c_str());
      return false;
    }
    run(name, *input);
  }
  return true;
}

bool run_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    std::fprintf(stderr, "%s: cannot be read\n", path.c_str());
    return false;
  }
  if (path.ends_with(".seeds")) return run_seeds(path, in);
  run(path, std::string{std::istreambuf_iterator<char>(in), {}});
  return true;
}

}  // namespace

int main(int count, char** words) {
  for (int i = 1; i < count; ++i) {
    if (!run_file(words[i])) return 2;
  }
  if (runs == 0) {
    std::fprintf(stderr, "No inputs. Name .seeds files or files of one input each.\n");
    return 2;
  }
  std::printf("%d inputs\n", runs);
  return 0;
}
