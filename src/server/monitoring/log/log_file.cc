// SPDX-License-Identifier: Apache-2.0
#include "server/monitoring/log/log_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace mayfly {
namespace {

bool is_link_of_ours(const char* path) {
  struct stat link {};
  if (::lstat(path, &link) != 0 || !S_ISLNK(link.st_mode)) return false;
  return link.st_uid == 0 || link.st_uid == ::geteuid();
}

}  // namespace

int open_text_descriptor(const char* path, TextFile kind) {
  const bool is_log = kind == TextFile::log;
  const int how = O_WRONLY | O_CLOEXEC | (is_log ? O_APPEND : O_TRUNC);
  int file = ::open(path, how | O_NOFOLLOW);
  bool is_new = false;
  if (file < 0 && errno == ELOOP) {
    const bool is_followed = is_link_of_ours(path);
    errno = ELOOP;
    if (!is_followed) return file;
    file = ::open(path, how);
    is_new = file < 0 && errno == ENOENT;
    if (is_new) file = ::open(path, how | O_CREAT, 0600);
  } else if (file < 0 && errno == ENOENT) {
    file = ::open(path, how | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
    is_new = true;
  }
  if (file >= 0 && is_new && is_log) (void)::fchmod(file, 0640);  // whatever the umask is
  return file;
}

std::FILE* open_text_file(const std::string& path, TextFile kind) {
  const int file = open_text_descriptor(path.c_str(), kind);
  if (file < 0) return nullptr;
  std::FILE* const stream = ::fdopen(file, kind == TextFile::log ? "a" : "w");
  if (stream == nullptr) ::close(file);
  return stream;
}

}  // namespace mayfly
