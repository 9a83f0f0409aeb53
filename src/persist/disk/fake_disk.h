// SPDX-License-Identifier: Apache-2.0
// FakeDisk: a disk in memory for tests, that runs full, fails, and loses power.
//
//   FakeDisk disk(seed);
//   disk.set_room(100);                  // the 101st byte does not fit
//   disk.fail_next(FakeDisk::Op::sync);
//   disk.power_cut();                    // what was not synced is there, or not, by lot
//
// It is as unkind as a real disk may be. After a power cut a file has what was synced and some
// prefix of what was written since. Each creation, renaming or removal since its directory was
// synced has happened or not, whatever happened to the one before. Bytes that a failed sync was
// about are lost for good: as in Linux, a later sync does not try them again, and is fine.
//
// Files that are open when the power goes may only be closed.
//
// Threads: any may call anything.

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

namespace mayfly {

class FakeDisk final : public Disk {
 public:
  enum class Op { create, write, sync, truncate, rename, remove, sync_directory };

  explicit FakeDisk(std::uint64_t seed = 1) : random_(seed) {}

  // ---- What may befall it ----

  void power_cut();

  // How many bytes more it takes; nothing: any number. Removing and truncating files gives room.
  void set_room(std::optional<std::uint64_t> bytes);

  // Nothing fails and nothing is full any more.
  void heal() {
    const std::lock_guard lock(mutex_);
    failures_.clear();
    capacity_.reset();
  }

  // What failed syncs have lost is not lost: the next sync writes it.
  void forgive() {
    const std::lock_guard lock(mutex_);
    for (const auto& [path, inode] : names_) inode->lost_to = 0;
  }

  // After `passing` more of them that are fine, `times` of them fail, each having done a part of it
  // if it can.
  void fail_next(Op op, int times = 1, int passing = 0) {
    const std::lock_guard lock(mutex_);
    failures_[op] = {times, passing};
  }

  // Syncs of files wait, from now until release_syncs().
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

  // Another process has a directory: lock() says that `owner` has it. None: it lets it go.
  void lock_elsewhere(const std::string& directory, std::optional<std::string> owner) {
    const std::lock_guard lock(mutex_);
    locked_elsewhere_.erase(directory);
    if (owner) locked_elsewhere_.emplace(directory, std::move(*owner));
  }

  // ---- A look from outside ----

  std::string bytes(const std::string& path) const {
    const std::lock_guard lock(mutex_);
    const auto found = names_.find(path);
    return found == names_.end() ? std::string() : found->second->bytes;
  }

  // A file that is there as if it had always been, and its directory, too.
  void put(const std::string& path, std::string bytes);

  int count(Op op) const {  // those that failed included
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
  struct Inode {
    std::string bytes;
    std::string synced;
    std::size_t least = 0;  // how short it was since it was synced
    std::size_t lost_from = 0;
    std::size_t lost_to = 0;  // bytes that a failed sync left unwritten

    void sync();
    void lose(std::string& text) const;
    std::string after_power_cut(Random& random) const;
  };

  // A change of a directory that is not synced: `name` is set to a file, or taken away if it is
  // null; and `also_gone` is taken away with it.
  struct Change {
    std::string name;
    Inode* inode;
    std::string also_gone;
  };

  struct Failures {
    int times = 0;
    int passing = 0;
  };

  class File;
  class Source;
  class Lock;

  using Names = std::map<std::string, Inode*>;

  static std::string directory_of(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    return slash == std::string::npos ? std::string(".") : path.substr(0, slash);
  }
  static void apply(const Change& change, Names& names);

  Inode* make_inode() { return inodes_.emplace_back(std::make_unique<Inode>()).get(); }
  Inode* make_file(const std::string& path);
  Status check(Op op, const std::string& path);  // counts it, and fails if it shall
  std::uint64_t used() const;
  Status write(Inode& inode, std::string_view bytes);
  Status sync(Inode& inode);
  Status truncate(Inode& inode, std::uint64_t size);

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Random random_;
  std::map<Op, Failures> failures_;
  std::map<Op, int> counts_;
  std::optional<std::uint64_t> capacity_;
  bool is_holding_ = false;
  int held_ = 0;

  std::vector<std::unique_ptr<Inode>> inodes_;  // for ever: somebody may have one open
  Names names_;                                 // by path
  Names synced_names_;
  std::vector<Change> changes_;              // from synced_names_ to names_
  std::map<std::string, bool> directories_;  // and whether they are there after a power cut
  std::multiset<std::string> locked_;
  std::map<std::string, std::string> locked_elsewhere_;  // and by whom
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
  File(FakeDisk& disk, Inode& inode) : disk_(disk), inode_(inode) {}

  Status write(std::string_view bytes) override { return disk_.write(inode_, bytes); }
  Status sync() override { return disk_.sync(inode_); }
  Status truncate(std::uint64_t size) override { return disk_.truncate(inode_, size); }
  std::uint64_t size() const override {
    const std::lock_guard lock(disk_.mutex_);
    return inode_.bytes.size();
  }

 private:
  FakeDisk& disk_;
  Inode& inode_;
};

class FakeDisk::Source final : public ByteSource {
 public:
  explicit Source(std::string bytes) : bytes_(std::move(bytes)), source_(bytes_) {}

  Result<std::size_t> read(std::span<char> room) override { return source_.read(room); }
  std::uint64_t size() const override { return bytes_.size(); }

 private:
  const std::string bytes_;
  StringSource source_;
};

inline void FakeDisk::Inode::lose(std::string& text) const {
  for (std::size_t i = lost_from; i < std::min(lost_to, text.size()); ++i) text[i] = '\0';
}

inline void FakeDisk::Inode::sync() {
  synced = bytes;
  lose(synced);
  least = bytes.size();
}

inline std::string FakeDisk::Inode::after_power_cut(Random& random) const {
  const bool was_cut = least < synced.size();
  if (was_cut && random.below(2) == 0) return synced;
  std::string left = bytes.substr(0, least + random.below(bytes.size() - least + 1));
  const bool is_short = lost_from < lost_to && synced.size() <= lost_from;
  if (is_short) left.resize(std::min(left.size(), lost_from));  // not even its size was written
  lose(left);
  return left;
}

inline void FakeDisk::apply(const Change& change, Names& names) {
  if (!change.also_gone.empty()) names.erase(change.also_gone);
  if (change.inode == nullptr) {
    names.erase(change.name);
  } else {
    names[change.name] = change.inode;
  }
}

inline void FakeDisk::power_cut() {
  const std::lock_guard lock(mutex_);
  for (const Change& change : changes_) {
    if (random_.below(2) == 0) apply(change, synced_names_);
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
    Inode* const left = make_inode();
    left->bytes = left->synced = inode->after_power_cut(random_);
    left->least = left->bytes.size();
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
  Inode* const inode = make_inode();
  inode->bytes = inode->synced = std::move(bytes);
  inode->least = inode->bytes.size();
  names_[path] = synced_names_[path] = inode;
  directories_[directory_of(path)] = true;
}

inline Status FakeDisk::check(Op op, const std::string& path) {
  ++counts_[op];
  Failures& failures = failures_[op];
  if (failures.times == 0) return Done{};
  if (failures.passing-- > 0) return Done{};
  failures.passing = 0;
  --failures.times;
  return Error{Code::io, "a failure that was asked for, of " + path};
}

inline FakeDisk::Inode* FakeDisk::make_file(const std::string& path) {
  Inode* const inode = make_inode();
  names_[path] = inode;
  changes_.push_back({path, inode, {}});
  return inode;
}

inline Result<std::unique_ptr<DiskFile>> FakeDisk::create(const std::string& path) {
  const std::lock_guard lock(mutex_);
  if (Status status = check(Op::create, path); !status) return status.error();
  if (!directories_.contains(directory_of(path)) && directory_of(path) != ".") {
    return Error{Code::not_found, "no directory for " + path};
  }
  const auto found = names_.find(path);
  Inode* const inode = found == names_.end() ? make_file(path) : found->second;
  inode->bytes.clear();
  inode->least = inode->lost_to = 0;
  return std::unique_ptr<DiskFile>(std::make_unique<File>(*this, *inode));
}

inline Result<std::unique_ptr<DiskFile>> FakeDisk::append(const std::string& path) {
  const std::lock_guard lock(mutex_);
  if (!directories_.contains(directory_of(path)) && directory_of(path) != ".") {
    return Error{Code::not_found, "no directory for " + path};
  }
  const auto found = names_.find(path);
  Inode* const inode = found == names_.end() ? make_file(path) : found->second;
  return std::unique_ptr<DiskFile>(std::make_unique<File>(*this, *inode));
}

inline Result<std::unique_ptr<ByteSource>> FakeDisk::open(const std::string& path,
                                                          std::uint64_t offset) {
  const std::lock_guard lock(mutex_);
  const auto found = names_.find(path);
  if (found == names_.end()) return Error{Code::not_found, "there is no " + path};
  const std::string& bytes = found->second->bytes;
  return std::unique_ptr<ByteSource>(
      std::make_unique<Source>(bytes.substr(std::min<std::size_t>(offset, bytes.size()))));
}

inline Status FakeDisk::rename(const std::string& from, const std::string& to) {
  const std::lock_guard lock(mutex_);
  if (Status status = check(Op::rename, from); !status) return status;
  const auto found = names_.find(from);
  if (found == names_.end()) return Error{Code::not_found, "there is no " + from};
  const Change change = {to, found->second, from};
  apply(change, names_);
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
    return Error{Code::busy, "the folder '" + directory + "' is in use by " + found->second};
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
    return Error{Code::io, "cannot make the directory " + path + ": File exists"};
  }
  directories_.emplace(path, false);
  return Done{};
}

inline Status FakeDisk::sync_directory(const std::string& path) {
  const std::lock_guard lock(mutex_);
  if (Status status = check(Op::sync_directory, path); !status) return status;
  std::erase_if(changes_, [&](const Change& change) {
    if (directory_of(change.name) != path) return false;
    apply(change, synced_names_);
    return true;
  });
  for (auto& [directory, is_safe] : directories_) {
    if (directory_of(directory) == path) is_safe = true;
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
    if (directory_of(path) == directory) names.push_back(path.substr(directory.size() + 1));
  }
  return names;
}

inline Status FakeDisk::write(Inode& inode, std::string_view bytes) {
  const std::lock_guard lock(mutex_);
  const Status status = check(Op::write, "a file");
  const std::uint64_t room = capacity_ ? *capacity_ - std::min(*capacity_, used()) : bytes.size();
  if (!status) bytes = bytes.substr(0, random_.below(bytes.size() + 1));
  inode.bytes.append(bytes.substr(0, std::min<std::uint64_t>(room, bytes.size())));
  if (!status) return status;
  if (room < bytes.size()) return Error{Code::full, "no room on the disk"};
  return Done{};
}

inline Status FakeDisk::sync(Inode& inode) {
  std::unique_lock lock(mutex_);
  ++held_;
  changed_.notify_all();
  changed_.wait(lock, [&] { return !is_holding_; });
  --held_;
  if (Status status = check(Op::sync, "a file"); !status) {
    inode.lost_from =
        std::min(inode.lost_from < inode.lost_to ? inode.lost_from : inode.least, inode.least);
    inode.lost_to = inode.bytes.size();
    return status;
  }
  inode.sync();
  return Done{};
}

inline Status FakeDisk::truncate(Inode& inode, std::uint64_t size) {
  const std::lock_guard lock(mutex_);
  if (Status status = check(Op::truncate, "a file"); !status) return status;
  inode.bytes.resize(size, '\0');
  inode.least = std::min<std::size_t>(inode.least, size);
  inode.lost_to = std::min<std::size_t>(inode.lost_to, size);
  return Done{};
}

}  // namespace mayfly
