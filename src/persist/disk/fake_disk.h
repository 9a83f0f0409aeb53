// SPDX-License-Identifier: Apache-2.0
// FakeDisk: a disk in memory for tests that can be full, fail, and lose power.
//
//   FakeDisk disk(seed);
//   disk.set_room(100);                  // the 101st byte does not fit
//   disk.fail_next(FakeDisk::Op::sync);
//   disk.power_cut();                    // unsynced data is kept or lost at random
//
// After a power cut a file has what was synced and some prefix of what was written since. Each
// creation, renaming or removal since its directory was synced has happened or not, independently.
// Bytes of a failed sync are lost: as in Linux, a later sync succeeds without writing them.
//
// Files that are open during a power cut may only be closed. Thread-safe.

#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mayfly/random.h"
#include "persist/disk/disk.h"
#include "persist/disk/fake_inode.h"

namespace mayfly {

class FakeDisk final : public Disk {
 public:
  enum class Op { create, write, sync, truncate, rename, remove, sync_directory };

  explicit FakeDisk(std::uint64_t seed = 1) : random_(seed) {}

  // ---- Faults ----

  void power_cut();

  // The free space; nothing: no limit. Removing and truncating files frees space.
  void set_room(std::optional<std::uint64_t> bytes);

  // Ends all faults.
  void heal() {
    const std::lock_guard lock(mutex_);
    failures_.clear();
    capacity_.reset();
  }

  // The next sync also writes what failed syncs have lost.
  void forgive() {
    const std::lock_guard lock(mutex_);
    for (const auto& [path, inode] : names_) inode->lost_to = 0;
  }

  // After `passing` more successes, `times` operations fail, possibly after a part of the work.
  void fail_next(Op op, int times = 1, int passing = 0) {
    const std::lock_guard lock(mutex_);
    failures_[op] = {times, passing};
  }

  // Syncs of files wait until release_syncs().
  void hold_syncs() {
    const std::lock_guard lock(mutex_);
    is_holding_ = true;
  }
  void release_syncs() {
    const std::lock_guard lock(mutex_);
    is_holding_ = false;
    changed_.notify_all();
  }
  void wait_until_a_sync_is_held() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return held_ > 0; });
  }

  // Another process locks a directory; without an owner, it unlocks it.
  void lock_elsewhere(const std::string& directory, std::optional<std::string> owner) {
    const std::lock_guard lock(mutex_);
    locked_elsewhere_.erase(directory);
    if (owner) locked_elsewhere_.emplace(directory, std::move(*owner));
  }

  // ---- Inspection ----

  std::string bytes(const std::string& path) const {
    const std::lock_guard lock(mutex_);
    const auto found = names_.find(path);
    return found == names_.end() ? std::string() : found->second->bytes;
  }

  // Adds a durable file and its directory.
  void put(const std::string& path, std::string bytes);

  int count(Op op) const {  // including failed ones
    const std::lock_guard lock(mutex_);
    const auto found = counts_.find(op);
    return found == counts_.end() ? 0 : found->second;
  }

  bool is_locked(const std::string& directory) const {
    const std::lock_guard lock(mutex_);
    return locked_.contains(directory);
  }

  // ---- Disk ----

  Result<std::unique_ptr<DiskFile>> create(const std::string& path) override;
  Result<std::unique_ptr<DiskFile>> append(const std::string& path) override;
  Result<std::unique_ptr<ByteSource>> open(const std::string& path,
                                           std::uint64_t offset = 0) override;
  Status rename(const std::string& from, const std::string& to) override;
  Status link(const std::string& from, const std::string& to) override;
  Status remove(const std::string& path) override;
  Status make_directory(const std::string& path) override;
  Status sync_directory(const std::string& path) override;
  bool exists(const std::string& path) const override;
  Result<std::vector<std::string>> list(const std::string& directory) const override;
  Result<std::unique_ptr<DirectoryLock>> lock(const std::string& directory,
                                              const std::string& owner) override;

 private:
  struct Failures {
    int times = 0;
    int passing = 0;
  };

  class File;
  class Lock;

  FakeInode* make_inode(std::string synced = {}) {
    return inodes_.emplace_back(std::make_unique<FakeInode>(std::move(synced))).get();
  }
  FakeInode* make_file(const std::string& path);
  Result<FakeInode*> open_to_write(const std::string& path);
  Status check(Op op, const std::string& path);  // counts it, and fails if requested
  std::uint64_t used() const;
  Status write(FakeInode& inode, std::string_view bytes);
  Status sync(FakeInode& inode);
  Status truncate(FakeInode& inode, std::uint64_t size);

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Random random_;
  std::map<Op, Failures> failures_;
  std::map<Op, int> counts_;
  std::optional<std::uint64_t> capacity_;
  bool is_holding_ = false;
  int held_ = 0;

  std::vector<std::unique_ptr<FakeInode>> inodes_;  // never freed: a file may be open
  FakeNames names_;                                 // by path
  FakeNames synced_names_;
  std::vector<FakeChange> changes_;          // from synced_names_ to names_
  std::map<std::string, bool> directories_;  // and whether they survive a power cut
  std::multiset<std::string> locked_;
  std::map<std::string, std::string> locked_elsewhere_;  // and the owner
};

class FakeDisk::Lock final : public DirectoryLock {
 public:
  Lock(FakeDisk& disk, std::string directory) : disk_(disk), directory_(std::move(directory)) {
    disk_.locked_.insert(directory_);
  }
  ~Lock() override {
    const std::lock_guard lock(disk_.mutex_);
    disk_.locked_.erase(disk_.locked_.find(directory_));
  }
  void set_owner(const std::string&) override {}

 private:
  FakeDisk& disk_;
  const std::string directory_;
};

class FakeDisk::File final : public DiskFile {
 public:
  File(FakeDisk& disk, FakeInode& inode) : disk_(disk), inode_(inode) {}

  Status write(std::string_view bytes) override { return disk_.write(inode_, bytes); }
  Status sync() override { return disk_.sync(inode_); }
  Status truncate(std::uint64_t size) override { return disk_.truncate(inode_, size); }
  std::uint64_t size() const override {
    const std::lock_guard lock(disk_.mutex_);
    return inode_.bytes.size();
  }

 private:
  FakeDisk& disk_;
  FakeInode& inode_;
};

inline void FakeDisk::power_cut() {
  const std::lock_guard lock(mutex_);
  for (const FakeChange& change : changes_) {
    if (random_.below(2) == 0) change.apply_to(synced_names_);
  }
  changes_.clear();
  std::erase_if(directories_, [&](const auto& entry) {
    if (entry.second || random_.below(2) == 0) return false;
    const std::string prefix = entry.first + "/";
    std::erase_if(synced_names_, [&](const auto& name) { return name.first.starts_with(prefix); });
    return true;
  });
  for (auto& [path, there] : directories_) there = true;

  names_.clear();
  for (auto& [path, inode] : synced_names_) {
    FakeInode* const left = make_inode(inode->after_power_cut(random_));
    inode = left;
    names_[path] = left;
  }
}

inline void FakeDisk::set_room(std::optional<std::uint64_t> bytes) {
  const std::lock_guard lock(mutex_);
  capacity_ = bytes;
  if (capacity_) *capacity_ += used();
}

inline std::uint64_t FakeDisk::used() const {
  std::uint64_t bytes = 0;
  for (const auto& [path, inode] : names_) bytes += inode->bytes.size();
  return bytes;
}

inline void FakeDisk::put(const std::string& path, std::string bytes) {
  const std::lock_guard lock(mutex_);
  FakeInode* const inode = make_inode(std::move(bytes));
  names_[path] = synced_names_[path] = inode;
  directories_[fake_directory_of(path)] = true;
}

inline Status FakeDisk::check(Op op, const std::string& path) {
  ++counts_[op];
  Failures& failures = failures_[op];
  if (failures.times == 0) return Done{};
  if (failures.passing-- > 0) return Done{};
  failures.passing = 0;
  --failures.times;
  return Error{Code::io, "injected failure of " + path};
}

inline FakeInode* FakeDisk::make_file(const std::string& path) {
  FakeInode* const inode = make_inode();
  names_[path] = inode;
  changes_.push_back({path, inode, {}});
  return inode;
}

inline Result<FakeInode*> FakeDisk::open_to_write(const std::string& path) {
  if (!directories_.contains(fake_directory_of(path)) && fake_directory_of(path) != ".") {
    return Error{Code::not_found, "no directory for " + path};
  }
  const auto found = names_.find(path);
  return found == names_.end() ? make_file(path) : found->second;
}

inline Result<std::unique_ptr<DiskFile>> FakeDisk::create(const std::string& path) {
  const std::lock_guard lock(mutex_);
  if (Status status = check(Op::create, path); !status) return status.error();
  const Result<FakeInode*> inode = open_to_write(path);
  if (!inode) return inode.error();
  (*inode)->bytes.clear();
  (*inode)->least = (*inode)->lost_to = 0;
  return std::unique_ptr<DiskFile>(std::make_unique<File>(*this, **inode));
}

inline Result<std::unique_ptr<DiskFile>> FakeDisk::append(const std::string& path) {
  const std::lock_guard lock(mutex_);
  const Result<FakeInode*> inode = open_to_write(path);
  if (!inode) return inode.error();
  return std::unique_ptr<DiskFile>(std::make_unique<File>(*this, **inode));
}

inline Result<std::unique_ptr<ByteSource>> FakeDisk::open(const std::string& path,
                                                          std::uint64_t offset) {
  const std::lock_guard lock(mutex_);
  const auto found = names_.find(path);
  if (found == names_.end()) return Error{Code::not_found, "there is no " + path};
  const std::string& bytes = found->second->bytes;
  return std::unique_ptr<ByteSource>(
      std::make_unique<FakeSource>(bytes.substr(std::min<std::size_t>(offset, bytes.size()))));
}

inline Status FakeDisk::rename(const std::string& from, const std::string& to) {
  const std::lock_guard lock(mutex_);
  if (Status status = check(Op::rename, from); !status) return status;
  const auto found = names_.find(from);
  if (found == names_.end()) return Error{Code::not_found, "there is no " + from};
  const FakeChange change = {to, found->second, from};
  change.apply_to(names_);
  changes_.push_back(change);
  return Done{};
}

inline Status FakeDisk::link(const std::string& from, const std::string& to) {
  const std::lock_guard lock(mutex_);
  if (Status status = check(Op::create, to); !status) return status;
  const auto found = names_.find(from);
  if (found == names_.end()) return Error{Code::not_found, "there is no " + from};
  if (names_.contains(to)) return Error{Code::io, to + " is there already"};
  names_[to] = found->second;
  changes_.push_back({to, found->second, {}});
  return Done{};
}

inline Result<std::unique_ptr<DirectoryLock>> FakeDisk::lock(const std::string& directory,
                                                             const std::string&) {
  const std::lock_guard lock(mutex_);
  const auto found = locked_elsewhere_.find(directory);
  if (found != locked_elsewhere_.end()) {
    return Error{Code::busy, "directory '" + directory + "' is in use by " + found->second};
  }
  return std::unique_ptr<DirectoryLock>(std::make_unique<Lock>(*this, directory));
}

inline Status FakeDisk::remove(const std::string& path) {
  const std::lock_guard lock(mutex_);
  if (Status status = check(Op::remove, path); !status) return status;
  if (names_.erase(path) > 0) changes_.push_back({path, nullptr, {}});
  return Done{};
}

inline Status FakeDisk::make_directory(const std::string& path) {
  const std::lock_guard lock(mutex_);
  if (names_.contains(path)) {
    return Error{Code::io, "cannot create directory " + path + ": File exists"};
  }
  directories_.emplace(path, false);
  return Done{};
}

inline Status FakeDisk::sync_directory(const std::string& path) {
  const std::lock_guard lock(mutex_);
  if (Status status = check(Op::sync_directory, path); !status) return status;
  std::erase_if(changes_, [&](const FakeChange& change) {
    if (fake_directory_of(change.name) != path) return false;
    change.apply_to(synced_names_);
    return true;
  });
  for (auto& [directory, is_safe] : directories_) {
    if (fake_directory_of(directory) == path) is_safe = true;
  }
  return Done{};
}

inline bool FakeDisk::exists(const std::string& path) const {
  const std::lock_guard lock(mutex_);
  return names_.contains(path) || directories_.contains(path);
}

inline Result<std::vector<std::string>> FakeDisk::list(const std::string& directory) const {
  const std::lock_guard lock(mutex_);
  if (!directories_.contains(directory)) {
    return Error{Code::not_found, "there is no directory " + directory};
  }
  std::vector<std::string> names;
  for (const auto& [path, inode] : names_) {
    if (fake_directory_of(path) == directory) names.push_back(path.substr(directory.size() + 1));
  }
  return names;
}

inline Status FakeDisk::write(FakeInode& inode, std::string_view bytes) {
  const std::lock_guard lock(mutex_);
  const Status status = check(Op::write, "a file");
  const std::uint64_t room = capacity_ ? *capacity_ - std::min(*capacity_, used()) : bytes.size();
  if (!status) bytes = bytes.substr(0, random_.below(bytes.size() + 1));
  inode.bytes.append(bytes.substr(0, std::min<std::uint64_t>(room, bytes.size())));
  if (!status) return status;
  if (room < bytes.size()) return Error{Code::full, "no room on the disk"};
  return Done{};
}

inline Status FakeDisk::sync(FakeInode& inode) {
  std::unique_lock lock(mutex_);
  ++held_;
  changed_.notify_all();
  changed_.wait(lock, [&] { return !is_holding_; });
  --held_;
  const Status status = check(Op::sync, "a file");
  status ? inode.sync() : inode.fail_sync();
  return status;
}

inline Status FakeDisk::truncate(FakeInode& inode, std::uint64_t size) {
  const std::lock_guard lock(mutex_);
  if (Status status = check(Op::truncate, "a file"); !status) return status;
  inode.truncate(size);
  return Done{};
}

}  // namespace mayfly
