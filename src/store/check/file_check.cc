// SPDX-License-Identifier: Apache-2.0
// The checks of a file before it is opened, and on demand.

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <span>

#include "store/check/page_check.h"
#include "store/lmdb/lmdb.h"

namespace mayfly::internal {
namespace {

constexpr std::size_t kEnoughForTwoPages = 65'536;

// A file, mapped for reading.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) {
      error_ = errno;
      return;
    }
    struct stat info {};
    error_ = ::fstat(file, &info) == 0 ? 0 : errno;
    size_ = static_cast<std::size_t>(info.st_size);
    if (error_ == 0 && size_ != 0) {
      void* const memory = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, file, 0);
      if (memory == MAP_FAILED) {
        error_ = errno;
      } else {
        memory_ = static_cast<const std::byte*>(memory);
      }
    }
    ::close(file);
  }
  ~MappedFile() {
    if (memory_ != nullptr) ::munmap(const_cast<std::byte*>(memory_), size_);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  int error() const { return error_; }
  std::span<const std::byte> bytes() const { return {memory_, memory_ == nullptr ? 0 : size_}; }

 private:
  int error_ = 0;
  std::size_t size_ = 0;
  const std::byte* memory_ = nullptr;
};

std::string reading(const std::string& path) {
  std::string doing = "read ";
  doing += path;
  return doing;
}

}  // namespace

Status check_before_open(const std::string& path) {
  const MappedFile file(path);
  if (file.error() != 0) return system_error(file.error(), reading(path));
  const auto bytes = file.bytes();
  if (bytes.empty()) return Done{};
  const auto meta = read_meta(bytes.subspan(0, std::min(bytes.size(), kEnoughForTwoPages)));
  if (!meta) return Error{meta.error().code, path + " is not a store: " + meta.error().message};
  // Pages that nobody uses may be missing at the end, so a short file deserves a closer look.
  const bool is_short = bytes.size() / meta->page_bytes <= meta->last_page;
  const PageCheck check = is_short ? check_pages(bytes, 0) : check_main_tree(bytes);
  if (check.problems.empty()) return Done{};
  return Error{Code::corrupt, path + " is cut off or damaged: " + check.problems.front()};
}

Result<PageCheck> check_file(const std::string& path, std::uint64_t txnid) {
  const MappedFile file(path);
  if (file.error() != 0) return system_error(file.error(), reading(path));
  return check_pages(file.bytes(), txnid);
}

}  // namespace mayfly::internal
