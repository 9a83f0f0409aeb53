// SPDX-License-Identifier: Apache-2.0
// PowerCutDisk: remembers what processes wrote into the files of one folder and what they synced,
// and makes the folder as a power cut may leave it. For tests/power_cut.cc and store_rules.cc.
//
// The model: a sector of 512 bytes is written as a whole. After the cut, each holds what any of the
// writes since its last sync left in the page cache, or what that sync left. Names are created,
// renamed and removed in order, durably once the folder has been synced.
//
// What happens is kept in memory that a fork() shares, so that children are recorded, too, even if
// they are killed.

#pragma once

#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mayfly::internal {

class PowerCutDisk {
 public:
  static constexpr std::size_t kSector = 512;
  using Bytes = std::vector<char>;

  PowerCutDisk() {
    void* const memory = ::mmap(nullptr, kArena, PROT_READ | PROT_WRITE,
                                MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) std::abort();
    shared_ = static_cast<Shared*>(memory);
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&shared_->mutex, &attributes);
    pthread_mutexattr_destroy(&attributes);
  }
  ~PowerCutDisk() { ::munmap(shared_, kArena); }

  PowerCutDisk(const PowerCutDisk&) = delete;
  PowerCutDisk& operator=(const PowerCutDisk&) = delete;

  // A file that is there when the recording begins. It counts as durable.
  void add(const std::string& name, std::uint64_t inode, Bytes content) {
    names_[name] = inode;
    contents_[inode] = std::move(content);
  }

  // What a process did. Files are told apart by inode, since names change.
  std::size_t on_write(std::uint64_t inode, std::uint64_t offset, std::span<const char> data) {
    return put({.kind = Kind::write, .inode = inode, .offset = offset}, {data.data(), data.size()});
  }
  void on_write_synced(std::size_t at) { put({.kind = Kind::write_synced, .offset = at}, {}); }
  void on_truncate(std::uint64_t inode, std::uint64_t size) {
    put({.kind = Kind::truncate, .inode = inode, .offset = size}, {});
  }
  std::size_t on_sync_begin() { return tick(); }
  void on_sync_end(std::uint64_t inode, std::size_t begun) {
    put({.kind = Kind::sync, .inode = inode, .offset = begun}, {});
  }
  void on_folder_synced(std::size_t begun) {
    put({.kind = Kind::folder_sync, .offset = begun}, {});
  }
  void on_name_change(const std::string& from, const std::string& to, std::uint64_t inode) {
    put({.kind = Kind::name, .inode = inode}, from + '\n' + to);
  }

  // Time is the number of things that have happened.
  std::size_t tick() { return put({.kind = Kind::tick}, {}); }

  // Takes in what has happened. To be called before the rest, when nothing is recorded any more.
  void finish() {
    now_ = shared_->now;
    for (std::size_t at = 0; at < shared_->used;) {
      Event event;
      std::memcpy(static_cast<void*>(&event), shared_->bytes + at, sizeof event);
      take(event, {shared_->bytes + at + sizeof event, event.size});
      at += sizeof event + event.size;
    }
  }

  std::size_t now() const { return now_; }

  // A moment for a cut. Half of them are about the end of a sync, where a wrong order shows.
  std::size_t choose_cut(std::mt19937_64& random) const {
    if (random() % 2 == 0 || syncs_.empty()) return random() % (now_ + 2);
    const std::size_t about = syncs_[random() % syncs_.size()] + random() % 7;
    return about - std::min<std::size_t>(3, about);
  }

  // Makes the folder `target` as a power cut at `cut` may leave it: a cut at t comes after what
  // happened at t. Each file is lucky in its own way: the share of sectors that were written in
  // time lies between none and all.
  void make_image(std::size_t cut, std::mt19937_64& random,
                  const std::filesystem::path& target) const {
    static constexpr unsigned kShares[] = {0, 3, 20, 50, 80, 97, 100};
    make_image(cut, random, target,
               [&](const std::string&) { return kShares[random() % std::size(kShares)]; });
  }

  // The same with a share, in percent, for each file; "/" stands for the names.
  template <class ShareOf>
  void make_image(std::size_t cut, std::mt19937_64& random, const std::filesystem::path& target,
                  ShareOf share_of) const {
    std::filesystem::create_directories(target);
    for (const auto& [name, inode] : names_after(cut, share_of("/"), random)) {
      const Bytes content = content_after(inode, cut, share_of(name), random);
      std::ofstream file(target / name, std::ios::binary);
      file.write(content.data(), static_cast<std::streamsize>(content.size()));
    }
  }

 private:
  static constexpr std::size_t kNotYet = static_cast<std::size_t>(-1);
  static constexpr std::size_t kArena = std::size_t{1} << 30;

  enum class Kind : std::uint32_t { write, write_synced, truncate, sync, folder_sync, name, tick };

  struct Event {
    Kind kind;
    std::uint64_t inode = 0;
    std::uint64_t offset = 0;  // of a sync: when it began
    std::size_t size = 0;
    std::size_t at = 0;
  };
  struct Shared {
    pthread_mutex_t mutex;
    std::size_t used;
    std::size_t now;
    char bytes[8];  // and more
  };
  struct Write {
    std::uint64_t inode;
    std::uint64_t offset;
    std::string_view data;
    bool truncates;
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

  std::size_t put(Event event, std::string_view data) {
    if (::pthread_mutex_lock(&shared_->mutex) == EOWNERDEAD) {
      ::pthread_mutex_consistent(&shared_->mutex);
    }
    const std::size_t now = event.at = shared_->now + 1;
    event.size = data.size();
    if (event.kind != Kind::tick) {
      if (sizeof *shared_ + shared_->used + sizeof event + data.size() > kArena) std::abort();
      char* const at = shared_->bytes + shared_->used;
      std::memcpy(at, static_cast<const void*>(&event), sizeof event);
      if (!data.empty()) std::memcpy(at + sizeof event, data.data(), data.size());
      shared_->used += sizeof event + data.size();
    }
    shared_->now = now;
    ::pthread_mutex_unlock(&shared_->mutex);
    return now;
  }

  void take(const Event& event, std::string_view data) {
    switch (event.kind) {
      case Kind::write:
      case Kind::truncate:
        writes_.push_back(
            {event.inode, event.offset, data, event.kind == Kind::truncate, event.at, kNotYet});
        break;
      case Kind::write_synced:
        for (Write& write : writes_) {
          if (write.at == event.offset) write.durable_at = event.at;
        }
        break;
      case Kind::sync:
        syncs_.push_back(event.at);
        for (Write& write : writes_) {
          if (write.inode == event.inode && write.at < event.offset) {
            write.durable_at = std::min(write.durable_at, event.at);
          }
        }
        break;
      case Kind::folder_sync:
        syncs_.push_back(event.at);
        for (NameChange& change : changes_) {
          if (change.at < event.offset) change.durable_at = std::min(change.durable_at, event.at);
        }
        break;
      case Kind::name:
        changes_.push_back({std::string(data.substr(0, data.find('\n'))),
                            std::string(data.substr(data.find('\n') + 1)), event.inode, event.at,
                            kNotYet});
        break;
      case Kind::tick:
        break;
    }
  }

  std::map<std::string, std::uint64_t> names_after(std::size_t cut, unsigned share,
                                                   std::mt19937_64& random) const {
    std::map<std::string, std::uint64_t> names = names_;
    bool is_lucky = true;
    for (const NameChange& change : changes_) {
      if (change.at > cut) break;
      if (change.durable_at > cut) is_lucky = is_lucky && random() % 100 < share;
      if (!is_lucky) break;
      const std::uint64_t inode = change.from.empty() ? change.inode : names[change.from];
      if (!change.from.empty()) names.erase(change.from);
      if (!change.to.empty()) names[change.to] = inode;
    }
    return names;
  }

  Bytes content_after(std::uint64_t inode, std::size_t cut, unsigned share,
                      std::mt19937_64& random) const {
    const bool tears = random() % 2 == 0;  // else a write is there or not, as a whole
    const auto found = contents_.find(inode);
    Bytes disk = found == contents_.end() ? Bytes() : found->second;
    Bytes cache = disk;
    for (const Write& write : writes_) {
      if (write.at > cut) break;
      if (write.inode != inode) continue;
      const bool is_durable = write.durable_at <= cut;
      const bool whole = random() % 100 < share;
      if (write.truncates) {
        cache.resize(write.offset);
        if (is_durable || whole) disk.resize(write.offset);
        continue;
      }
      const std::size_t end = write.offset + write.data.size();
      if (cache.size() < end) cache.resize(end);
      std::ranges::copy(write.data, cache.begin() + static_cast<std::ptrdiff_t>(write.offset));
      for (std::size_t at = write.offset / kSector * kSector; at < end; at += kSector) {
        if (!is_durable && !(tears ? random() % 100 < share : whole)) continue;
        const std::size_t sector_end = std::min(at + kSector, cache.size());
        if (disk.size() < sector_end) disk.resize(sector_end);
        std::copy(cache.begin() + static_cast<std::ptrdiff_t>(at),
                  cache.begin() + static_cast<std::ptrdiff_t>(sector_end),
                  disk.begin() + static_cast<std::ptrdiff_t>(at));
      }
    }
    return disk;
  }

  Shared* shared_;
  std::map<std::string, std::uint64_t> names_;
  std::map<std::uint64_t, Bytes> contents_;
  std::vector<Write> writes_;
  std::vector<NameChange> changes_;
  std::vector<std::size_t> syncs_;
  std::size_t now_ = 0;
};

}  // namespace mayfly::internal
