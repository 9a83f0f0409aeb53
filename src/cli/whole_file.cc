// SPDX-License-Identifier: Apache-2.0
#include "cli/whole_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

namespace mayfly {
namespace {

namespace fs = std::filesystem;

// The absolute path without links and dots; `path` itself if it cannot be resolved. The file need
// not exist.
std::string resolved(const std::string& path) {
  constexpr int kLinksMost = 40;  // as in the kernel
  std::error_code problem;
  fs::path target_path = fs::absolute(path, problem);
  // Follow a link to a file that does not exist yet.
  for (int i = 0;
       i < kLinksMost && fs::is_symlink(target_path, problem) && !fs::exists(target_path, problem);
       ++i) {
    target_path = target_path.parent_path() / fs::read_symlink(target_path, problem);
  }
  const std::string target = fs::weakly_canonical(target_path, problem).string();
  return problem || target.empty() ? path : target;
}

bool is_same_path(const std::string& one, const std::string& other) {
  std::error_code ignored;
  return resolved(one) == resolved(other) || fs::equivalent(one, other, ignored);
}

}  // namespace

WholeFile::WholeFile(std::string path, bool is_plain)
    : path_(std::move(path)),
      written_(fmt::format("{}.{}.partial", path_, getpid())),
      is_plain_(is_plain) {}

WholeFile::~WholeFile() {
  if (file_ != nullptr && is_plain_) (void)disk_.remove(written_);
}

Result<WholeFile> WholeFile::create(const std::string& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) {
    return Error{Code::invalid, fmt::format("'{}' is a directory (give a file name)", path)};
  }
  const bool is_old = fs::is_regular_file(path, ignored);
  const bool is_plain = is_old || !fs::exists(path, ignored);
  WholeFile file(resolved(path), is_plain);
  auto opened = is_plain ? file.disk_.create(file.written_) : file.disk_.append_through_links(path);
  if (!opened) {  // name the file that the user gave
    std::string message = opened.error().message;
    const std::size_t at = message.find(file.written_);
    if (at != message.npos) message.replace(at, file.written_.size(), path);
    return Error{opened.error().code, std::move(message)};
  }
  file.file_ = std::move(*opened);
  // The new file has the permissions of the old one.
  if (is_old) fs::permissions(file.written_, fs::status(path, ignored).permissions(), ignored);
  return file;
}

bool WholeFile::write() {
  if (status_) status_ = file_->write(text_);
  text_.clear();
  return status_.ok();
}

Status WholeFile::finish() {
  if (!write() || !is_plain_) return status_;
  status_ = file_->sync();
  if (!status_) return status_;
  status_ = disk_.rename(written_, path_);
  if (!status_) return status_;
  file_ = nullptr;
  const std::string directory = fs::path(path_).parent_path().string();
  return disk_.sync_directory(directory.empty() ? "." : directory);
}

bool is_standard_output(const std::string& path) {
  return path == "-" || path == "/dev/stdout" || path == "/dev/fd/1" || path == "/proc/self/fd/1";
}

Status check_is_not_store(const std::string& path, const std::string& store) {
  const std::string file = resolved(store);
  for (const char* const suffix : {"", "-lock", "-shm", "-wal"}) {
    if (!is_same_path(path, file + suffix)) continue;
    return Error{Code::invalid,
                 fmt::format("'{}' is {} (choose another file)", path,
                             *suffix == '\0' ? "the store itself" : "a file of the store")};
  }
  return Done{};
}

}  // namespace mayfly
