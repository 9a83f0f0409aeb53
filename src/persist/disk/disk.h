// SPDX-License-Identifier: Apache-2.0
// Disk: the file system as persistence uses it. Tests use FakeDisk (fake_disk.h), which can be
// full, fail, and lose unsynced data like a power failure.
//
//   Result<std::unique_ptr<DiskFile>> file = disk.create("dir/temp-1.rdb");
//   (*file)->write(bytes);  (*file)->sync();
//   disk.rename("dir/temp-1.rdb", "dir/dump.rdb");  disk.sync_directory("dir");
//
// A file is safe from a power cut when its bytes are synced and, if it is new or was renamed, the
// directory is, too.
//
// Threads: a DiskFile may be synced by one thread while another one writes to it.

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mayfly/result.h"
#include "persist/disk/byte_sink.h"

namespace mayfly {

// A file open for writing at its end. Errors say which file, and why (Code::full: no room).
class DiskFile : public ByteSink {
 public:
  virtual Status sync() = 0;  // fdatasync
  virtual std::uint64_t size() const = 0;
  virtual Status truncate(std::uint64_t size) = 0;  // further bytes go there
};

// A directory that one process uses alone, until this is destroyed or the process ends, whatever
// ends it. A child process does not keep it.
class DirectoryLock {
 public:
  virtual ~DirectoryLock() = default;
  virtual void set_owner(const std::string& owner) = 0;  // as in Disk::lock()
};

// Of the file system that a directory is on.
struct DiskRoom {
  std::uint64_t free_bytes = 0;  // for us
  std::uint64_t bytes = 0;
};

class Disk {
 public:
  virtual ~Disk() = default;

  virtual Result<std::unique_ptr<DiskFile>> create(const std::string& path) = 0;  // empty
  virtual Result<std::unique_ptr<DiskFile>> append(const std::string& path) = 0;  // made if missing
  virtual Result<std::unique_ptr<ByteSource>> open(const std::string& path,
                                                   std::uint64_t offset = 0) = 0;

  virtual Status rename(const std::string& from, const std::string& to) = 0;  // replaces
  // A second name for a file, durable with its directory. An error if `to` is there.
  virtual Status link(const std::string& from, const std::string& to) = 0;
  virtual Status remove(const std::string& path) = 0;          // fine if it is not there
  virtual Status make_directory(const std::string& path) = 0;  // fine if it is there
  virtual Status sync_directory(const std::string& path) = 0;
  virtual bool exists(const std::string& path) const = 0;
  virtual Result<std::vector<std::string>> list(const std::string& directory) const = 0;  // names

  // Nothing if it is not known.
  virtual std::optional<DiskRoom> room(const std::string&) const { return std::nullopt; }

  // Takes a directory, by whatever name it is reached. `owner` is a line for those who want it
  // meanwhile ("process 4711, port 6379"). Code::busy: another process has it, and the message
  // says who. Other errors: it cannot be locked, as nothing can be written there. The same Disk can
  // take a directory several times.
  virtual Result<std::unique_ptr<DirectoryLock>> lock(const std::string& directory,
                                                      const std::string& owner) = 0;
};

// New files are for their owner only (0600, directories 0700). A file that replaces another one by
// rename() gets its permissions. Symbolic links are not followed when files are written.
class SystemDisk final : public Disk {
 public:
  SystemDisk();
  ~SystemDisk() override;
  SystemDisk(SystemDisk&&) noexcept;  // while it has locked nothing
  SystemDisk& operator=(SystemDisk&&) = delete;

  Result<std::unique_ptr<DiskFile>> create(const std::string& path) override;
  Result<std::unique_ptr<DiskFile>> append(const std::string& path) override;
  // As append(), but links are followed: a user may name /dev/fd/3.
  Result<std::unique_ptr<DiskFile>> append_through_links(const std::string& path);
  Result<std::unique_ptr<ByteSource>> open(const std::string& path,
                                           std::uint64_t offset = 0) override;
  Status rename(const std::string& from, const std::string& to) override;
  Status link(const std::string& from, const std::string& to) override;
  Status remove(const std::string& path) override;
  Status make_directory(const std::string& path) override;
  Status sync_directory(const std::string& path) override;
  bool exists(const std::string& path) const override;
  Result<std::vector<std::string>> list(const std::string& directory) const override;
  std::optional<DiskRoom> room(const std::string& directory) const override;
  Result<std::unique_ptr<DirectoryLock>> lock(const std::string& directory,
                                              const std::string& owner) override;

 private:
  class LockFile;
  class Lock;
  using DirectoryId = std::pair<std::uint64_t, std::uint64_t>;  // device and inode

  std::map<DirectoryId, std::unique_ptr<LockFile>> locks_;
};

// Writes to a file and syncs it now and then, so that the last sync is short and does not block the
// disk for others.
class SyncingSink final : public ByteSink {
 public:
  // The file must outlive it. 0: never syncs.
  SyncingSink(DiskFile& file, std::uint64_t every_bytes) : file_(file), every_(every_bytes) {}

  Status write(std::string_view bytes) override {
    if (Status status = file_.write(bytes); !status) return status;
    unsynced_ += bytes.size();
    if (every_ == 0 || unsynced_ < every_) return Done{};
    unsynced_ = 0;
    return file_.sync();
  }

 private:
  DiskFile& file_;
  const std::uint64_t every_;
  std::uint64_t unsynced_ = 0;
};

}  // namespace mayfly
