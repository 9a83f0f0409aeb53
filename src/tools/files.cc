// SPDX-License-Identifier: Apache-2.0
#include "tools/files.h"

#include <fmt/format.h>

#include <cerrno>
#include <fstream>
#include <iostream>
#include <system_error>

namespace mayfly {
namespace {

Error io_error(std::string_view doing, const std::filesystem::path& path, std::error_code why) {
  return {Code::io, fmt::format("cannot {} '{}': {}; give a place that can be written to", doing,
                                path.string(), why.message())};
}

// Streams do not say why they failed; the call below them left it in errno.
std::error_code last_failure() { return {errno != 0 ? errno : EIO, std::generic_category()}; }

Status write(const std::filesystem::path& path, std::string_view content, std::ios::openmode mode) {
  errno = 0;
  std::ofstream file(path, std::ios::binary | mode);
  file << content;
  file.close();
  if (!file) return io_error("write", path, last_failure());
  return Done{};
}

// What fails makes the stream bad; iterators over its buffer would throw.
std::string read_all(std::istream& in) {
  constexpr std::size_t kPieceBytes = 65'536;
  std::string content;
  while (in) {
    const std::size_t size = content.size();
    content.resize(size + kPieceBytes);
    in.read(content.data() + size, kPieceBytes);
    content.resize(size + static_cast<std::size_t>(in.gcount()));
  }
  return content;
}

}  // namespace

Status make_directory(const std::filesystem::path& directory) {
  std::error_code failure;
  std::filesystem::create_directories(directory, failure);
  if (!failure && !std::filesystem::is_directory(directory)) {
    failure = std::make_error_code(std::errc::not_a_directory);
  }
  if (failure) return io_error("make the directory", directory, failure);
  return Done{};
}

Status check_writable(const std::filesystem::path& path) { return write(path, "", std::ios::app); }

Status write_file(const std::filesystem::path& path, std::string_view content) {
  return write(path, content, std::ios::trunc);
}

Result<std::string> read_file(const std::filesystem::path& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string content;
  if (file) content = read_all(file);
  if (!file.is_open() || file.bad() || std::filesystem::is_directory(path)) {
    const std::error_code why = std::filesystem::is_directory(path)
                                    ? std::make_error_code(std::errc::is_a_directory)
                                    : last_failure();
    return Error{Code::io, fmt::format("cannot read '{}': {}", path.string(), why.message())};
  }
  return content;
}

Result<std::string> read_input() {
  std::string content = read_all(std::cin);
  if (std::cin.bad()) return Error{Code::io, "cannot read the standard input"};
  return content;
}

}  // namespace mayfly
