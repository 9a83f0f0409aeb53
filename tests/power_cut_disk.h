// SPDX-License-Identifier: Apache-2.0
// PowerCutDisk: remembers what a process wrote into the files of one folder and what it synced, and
// makes the folder as a power cut may leave it. For tests/power_cut.cc.
//
// The model: a sector of 512 bytes is written as a whole. After the cut, each holds what any of the
// writes since its last sync left in the page cache, or what that sync left. Names are created,
// renamed and removed in order, durably once the folder has been synced.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace mayfly::internal {

class PowerCutDisk {
 public:
  static constexpr std::size_t kSector = 512;
  using Bytes = std::vector<char>;

  // A file that is there when the recording begins. It counts as durable.
  void add(const std::string& name, std::uint64_t inode, Bytes content) {
    names_[name] = inode;
    contents_[inode] = std::move(content);
  }

  // What the process did. Files are told apart by inode, since names change.
  void on_write(std::uint64_t inode, std::uint64_t offset, std::span<const char> data,
                bool is_synced) {
    const std::lock_guard lock(mutex_);
    ++now_;
    writes_.push_back(
        {inode, offset, Bytes(data.begin(), data.end()), now_, is_synced ? now_ + 1 : kNotYet});
  }
  std::size_t on_sync_begin() {
    const std::lock_guard lock(mutex_);
    return ++now_;
  }
  void on_sync_end(std::uint64_t inode, std::size_t begun) {
    const std::lock_guard lock(mutex_);
    syncs_.push_back(++now_);
    for (Write& write : writes_) {
      if (write.inode == inode && write.at < begun) {
        write.durable_at = std::min(write.durable_at, now_);
      }
    }
  }
  void on_folder_synced(std::size_t begun) {
    const std::lock_guard lock(mutex_);
    syncs_.push_back(++now_);
    for (NameChange& change : changes_) {
      if (change.at < begun) change.durable_at = std::min(change.durable_at, now_);
    }
  }
  void on_name_change(const std::string& from, const std::string& to, std::uint64_t inode) {
    const std::lock_guard lock(mutex_);
    ++now_;
    changes_.push_back({from, to, inode, now_, kNotYet});
  }

  // Time is the number of things that have happened.
  std::size_t tick() {
    const std::lock_guard lock(mutex_);
    return ++now_;
  }

  // A moment for a cut. Half of them are about the end of a sync, where a wrong order shows.
  std::size_t choose_cut(std::mt19937_64& random) const {
    if (random() % 2 == 0 || syncs_.empty()) return random() % (now_ + 2);
    return syncs_[random() % syncs_.size()] + random() % 7 - std::min<std::size_t>(3, now_);
  }

  // Makes the folder `target` as a power cut at `cut` may leave it: a cut at t comes after what
  // happened at t. Each file is lucky in its own way: the share of sectors that were written in
  // time lies between none and all.
  void make_image(std::size_t cut, std::mt19937_64& random,
                  const std::filesystem::path& target) const {
    std::filesystem::create_directories(target);
    for (const auto& [name, inode] : names_after(cut, random)) {
      const Bytes content = content_after(inode, cut, random);
      std::ofstream file(target / name, std::ios::binary);
      file.write(content.data(), static_cast<std::streamsize>(content.size()));
    }
  }

 private:
  static constexpr std::size_t kNotYet = static_cast<std::size_t>(-1);

  struct Write {
    std::uint64_t inode;
    std::uint64_t offset;
    Bytes data;
    std::size_t at;
    std::size_t durable_at;
  };
  struct NameChange {
    std::string from;     // empty: created
    std::string to;       // empty: removed
    std::uint64_t inode;  // of what was created
    std::size_t at;
    std::size_t durable_at;
  };

  std::map<std::string, std::uint64_t> names_after(std::size_t cut, std::mt19937_64& random) const {
    std::map<std::string, std::uint64_t> names = names_;
    bool is_lucky = true;
    for (const NameChange& change : changes_) {
      if (change.at > cut) break;
      is_lucky = is_lucky && random() % 2 == 0;
      if (change.durable_at > cut && !is_lucky) break;
      const std::uint64_t inode = change.from.empty() ? change.inode : names[change.from];
      if (!change.from.empty()) names.erase(change.from);
      if (!change.to.empty()) names[change.to] = inode;
    }
    return names;
  }

  Bytes content_after(std::uint64_t inode, std::size_t cut, std::mt19937_64& random) const {
    static constexpr unsigned kShares[] = {0, 3, 20, 50, 80, 97, 100};
    const unsigned share = kShares[random() % std::size(kShares)];
    const bool tears = random() % 2 == 0;  // else a write is there or not, as a whole
    const auto found = contents_.find(inode);
    Bytes disk = found == contents_.end() ? Bytes() : found->second;
    Bytes cache = disk;
    for (const Write& write : writes_) {
      if (write.at > cut) break;
      if (write.inode != inode) continue;
      const std::size_t end = write.offset + write.data.size();
      if (cache.size() < end) cache.resize(end);
      std::ranges::copy(write.data, cache.begin() + static_cast<std::ptrdiff_t>(write.offset));
      const bool whole = random() % 100 < share;
      for (std::size_t at = write.offset / kSector * kSector; at < end; at += kSector) {
        const bool is_there = write.durable_at <= cut || (tears ? random() % 100 < share : whole);
        if (!is_there) continue;
        const std::size_t sector_end = std::min(at + kSector, cache.size());
        if (disk.size() < sector_end) disk.resize(sector_end);
        std::copy(cache.begin() + static_cast<std::ptrdiff_t>(at),
                  cache.begin() + static_cast<std::ptrdiff_t>(sector_end),
                  disk.begin() + static_cast<std::ptrdiff_t>(at));
      }
    }
    return disk;
  }

  mutable std::mutex mutex_;
  std::map<std::string, std::uint64_t> names_;
  std::map<std::uint64_t, Bytes> contents_;
  std::vector<Write> writes_;
  std::vector<NameChange> changes_;
  std::vector<std::size_t> syncs_;
  std::size_t now_ = 0;
};

}  // namespace mayfly::internal
