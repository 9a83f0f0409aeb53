// SPDX-License-Identifier: Apache-2.0
#include "tools/files.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <system_error>

namespace mayfly {
namespace {

Error io_error(std::string_view doing, const std::filesystem::path& path, std::error_code why) {
  return {Code::io, fmt::format("cannot {} '{}': {} (choose a writable path)", doing, path.string(),
                                why.message())};
}

// Streams do not report the cause of a failure; the system call left it in errno.
std::error_code last_failure() { return {errno != 0 ? errno : EIO, std::generic_category()}; }

Status write(const std::filesystem::path& path, std::string_view content, std::ios::openmode mode) {
  errno = 0;
  std::ofstream file(path, std::ios::binary | mode);
  file << content;
  file.close();
  if (!file) return io_error("write", path, last_failure());
  return Done{};
}

// A failure makes the stream bad; iterators over its buffer would throw.
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

Error cannot_read(const std::string& name, int why) {
  return {Code::io, fmt::format("cannot read {}: {}", name, std::generic_category().message(why))};
}

}  // namespace

Status make_directory(const std::filesystem::path& directory) {
  std::error_code failure;
  std::filesystem::create_directories(directory, failure);
  if (!failure && !std::filesystem::is_directory(directory)) {
    failure = std::make_error_code(std::errc::not_a_directory);
  }
  if (failure) return io_error("create directory", directory, failure);
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
  if (std::cin.bad()) return Error{Code::io, "cannot read standard input"};
  return content;
}

void InputLines::Close::operator()(std::FILE* file) const {
  if (file != stdin) std::fclose(file);
}

void InputLines::Free::operator()(char* memory) const { std::free(memory); }

InputLines::InputLines(std::FILE* file, std::string name) : file_(file), name_(std::move(name)) {
  struct stat found {};
  if (fstat(fileno(file), &found) == 0 && S_ISREG(found.st_mode)) {
    size_ = static_cast<std::uint64_t>(found.st_size);
  }
}

Result<InputLines> InputLines::open(const std::string& path) {
  if (path.empty() || path == "-") return InputLines(stdin, "standard input");
  std::FILE* const file = std::fopen(path.c_str(), "re");
  if (file == nullptr) return cannot_read("'" + path + "'", errno);
  return InputLines(file, "'" + path + "'");
}

bool InputLines::next() {
  char* room = room_.release();
  errno = 0;
  const ssize_t length = getline(&room, &room_size_, file_.get());
  room_.reset(room);
  if (length < 0) {
    if (std::feof(file_.get()) == 0) failure_ = errno != 0 ? errno : EIO;
    return false;
  }
  line_ = {room, static_cast<std::size_t>(length)};
  bytes_read_ += line_.size();
  ++number_;
  if (line_.ends_with('\n')) line_.remove_suffix(1);
  return true;
}

Status InputLines::status() const {
  if (failure_ != 0) return cannot_read(name_, failure_);
  return Done{};
}

}  // namespace mayfly
