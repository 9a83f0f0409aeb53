// SPDX-License-Identifier: Apache-2.0
// Runs a fuzzer over the files of its corpus, without libFuzzer: for the unit tests. What breaks
// ends the program; the last name that was printed is the input.
//
//   build/dev/tests/resp.request_fuzz FILE_OR_FOLDER...

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

namespace fs = std::filesystem;

std::vector<fs::path> files_in(const fs::path& path) {
  if (!fs::is_directory(path)) return {path};
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(path)) files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

bool run(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return false;
  std::printf("%s\n", path.c_str());
  std::fflush(stdout);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(in), {}};
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  return true;
}

}  // namespace

int main(int count, char** words) {
  int runs = 0;
  for (int i = 1; i < count; ++i) {
    for (const fs::path& path : files_in(words[i])) {
      if (!run(path)) {
        std::fprintf(stderr, "cannot read %s\n", path.c_str());
        return 2;
      }
      ++runs;
    }
  }
  if (runs == 0) {
    std::fprintf(stderr, "there is no input: name files or folders of inputs\n");
    return 2;
  }
  std::printf("%d inputs\n", runs);
  return 0;
}
