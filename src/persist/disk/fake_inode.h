// SPDX-License-Identifier: Apache-2.0
// The files and directories of a FakeDisk (fake_disk.h), for tests.

#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "mayfly/random.h"
#include "persist/disk/byte_sink.h"

namespace mayfly {

struct FakeInode {
  explicit FakeInode(std::string text)
      : bytes(text), synced(std::move(text)), least(bytes.size()) {}

  std::string bytes;
  std::string synced;
  std::size_t least;  // the shortest size since the last sync
  std::size_t lost_from = 0;
  std::size_t lost_to = 0;  // bytes that a failed sync left unwritten

  void sync() {
    synced = bytes;
    lose(synced);
    least = bytes.size();
  }

  void fail_sync() {
    lost_from = std::min(lost_from < lost_to ? lost_from : least, least);
    lost_to = bytes.size();
  }

  void truncate(std::size_t size) {
    bytes.resize(size, '\0');
    least = std::min(least, size);
    lost_to = std::min(lost_to, size);
  }

  std::string after_power_cut(Random& random) const {
    const bool was_cut = least < synced.size();
    if (was_cut && random.below(2) == 0) return synced;
    std::string left = bytes.substr(0, least + random.below(bytes.size() - least + 1));
    const bool is_short = lost_from < lost_to && synced.size() <= lost_from;
    if (is_short) left.resize(std::min(left.size(), lost_from));  // not even its size was written
    lose(left);
    return left;
  }

 private:
  void lose(std::string& text) const {
    for (std::size_t i = lost_from; i < std::min(lost_to, text.size()); ++i) text[i] = '\0';
  }
};

using FakeNames = std::map<std::string, FakeInode*>;  // by path

// An unsynced change of a directory: `name` refers to the file, or is removed if it is null;
// `also_gone` is removed, too.
struct FakeChange {
  std::string name;
  FakeInode* inode;
  std::string also_gone;

  void apply_to(FakeNames& names) const {
    if (!also_gone.empty()) names.erase(also_gone);
    if (inode == nullptr) {
      names.erase(name);
    } else {
      names[name] = inode;
    }
  }
};

inline std::string fake_directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string(".") : path.substr(0, slash);
}

// The content of a file when it was opened.
class FakeSource final : public ByteSource {
 public:
  explicit FakeSource(std::string bytes) : bytes_(std::move(bytes)), source_(bytes_) {}

  Result<std::size_t> read(std::span<char> room) override { return source_.read(room); }
  std::uint64_t size() const override { return bytes_.size(); }

 private:
  const std::string bytes_;
  StringSource source_;
};

}  // namespace mayfly
