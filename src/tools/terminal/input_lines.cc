// SPDX-License-Identifier: Apache-2.0
#include "tools/terminal/input_lines.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <system_error>

namespace mayfly {
namespace {

Error cannot_read(const std::string& name, int why) {
  return {Code::io, fmt::format("cannot read {}: {}", name, std::generic_category().message(why))};
}

}  // namespace

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
  if (path.empty() || path == "-") return InputLines(stdin, "the standard input");
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
