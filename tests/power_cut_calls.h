// SPDX-License-Identifier: Apache-2.0
// Functions of the same names as the system's, which LMDB and the store then call: they tell a
// PowerCutDisk what is written and synced. For programs of one file, which include this once.

#pragma once

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cstdarg>
#include <cstdint>
#include <string>
#include <string_view>

#include "power_cut_disk.h"

namespace mayfly::internal {

// The recording. There is one at a time, and none while images are made.
inline std::atomic<PowerCutDisk*> disk{nullptr};

// Called before and after each of the calls on a recorded file, with a name for it.
inline std::atomic<void (*)(const char* what)> on_call{nullptr};
// Called in the midst of a sync: what is written from now on may be lost all the same.
inline std::atomic<void (*)(std::string_view name)> on_sync{nullptr};

template <class Function>
Function* system_call(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

// The name within the recorded folder; empty if it is elsewhere, or holds locks only.
inline std::string recorded_name(const PowerCutDisk* now, std::string_view path) {
  if (now == nullptr || !path.starts_with(now->folder())) return {};
  path.remove_prefix(now->folder().size());
  return path.ends_with("-lock") || path.ends_with("-shm") ? std::string() : std::string(path);
}

inline std::string path_of(int descriptor) {
  const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
  char path[4096];
  const ssize_t size = ::readlink(link.c_str(), path, sizeof path);
  return {path, size < 0 ? 0 : static_cast<std::size_t>(size)};
}

inline std::uint64_t inode_of(int descriptor) {
  struct stat facts {};
  ::fstat(descriptor, &facts);
  return facts.st_ino;
}

inline void tell(const char* what) {
  if (auto* const call = on_call.load()) call(what);
}

// The recording, if this file is recorded; else null. It may end at any time.
inline PowerCutDisk* recorder_of(int descriptor) {
  PowerCutDisk* const now = disk;
  return recorded_name(now, path_of(descriptor)).empty() ? nullptr : now;
}

// A synchronous write is durable when it returns, not when others can see it.
inline void record_write(PowerCutDisk& now, int descriptor, off_t offset, const void* data,
                         ssize_t size) {
  if (size <= 0) return;
  const std::size_t at =
      now.on_write(inode_of(descriptor), static_cast<std::uint64_t>(offset),
                   {static_cast<const char*>(data), static_cast<std::size_t>(size)});
  const bool is_synced = (::fcntl(descriptor, F_GETFL) & O_DSYNC) != 0;
  tell(is_synced ? "meta page" : "written");
  if (is_synced) now.on_write_synced(at);
}

inline int sync_and_record(int descriptor) {
  PowerCutDisk* const now = disk;
  if (now == nullptr) return 0;  // nothing here needs to last
  const std::string path = path_of(descriptor);
  const bool is_folder = path + '/' == now->folder();
  const std::string name = recorded_name(now, path);
  if (!is_folder && name.empty()) return 0;
  tell("sync");
  const std::size_t begun = now->on_sync_begin();
  tell("syncing");
  if (auto* const during = on_sync.load()) during(name);
  if (is_folder) {
    now->on_folder_synced(begun);
  } else {
    now->on_sync_end(inode_of(descriptor), begun);
  }
  tell("synced");
  return 0;
}

extern "C" {

ssize_t pwrite(int descriptor, const void* data, size_t size, off_t offset) {
  static auto* const system = system_call<ssize_t(int, const void*, size_t, off_t)>("pwrite");
  PowerCutDisk* const now = recorder_of(descriptor);
  if (now == nullptr) return system(descriptor, data, size, offset);
  tell("pwrite");
  const ssize_t count = system(descriptor, data, size, offset);
  record_write(*now, descriptor, offset, data, count);
  return count;
}

ssize_t write(int descriptor, const void* data, size_t size) {
  static auto* const system = system_call<ssize_t(int, const void*, size_t)>("write");
  PowerCutDisk* const now = recorder_of(descriptor);
  if (now == nullptr) return system(descriptor, data, size);
  tell("write");
  const off_t offset = ::lseek(descriptor, 0, SEEK_CUR);
  const ssize_t count = system(descriptor, data, size);
  record_write(*now, descriptor, offset, data, count);
  return count;
}

ssize_t writev(int descriptor, const iovec* parts, int count) {
  static auto* const system = system_call<ssize_t(int, const iovec*, int)>("writev");
  if (recorder_of(descriptor) == nullptr) return system(descriptor, parts, count);
  ssize_t done = 0;
  for (int i = 0; i < count; ++i) {
    const ssize_t written = ::write(descriptor, parts[i].iov_base, parts[i].iov_len);
    if (written < 0) return written;
    done += written;
  }
  return done;
}

int fdatasync(int descriptor) { return sync_and_record(descriptor); }
int fsync(int descriptor) { return sync_and_record(descriptor); }

int ftruncate(int descriptor, off_t size) noexcept {
  static auto* const system = system_call<int(int, off_t)>("ftruncate");
  const int failed = system(descriptor, size);
  PowerCutDisk* const now = recorder_of(descriptor);
  if (failed == 0 && now != nullptr) {
    now->on_truncate(inode_of(descriptor), static_cast<std::uint64_t>(size));
  }
  return failed;
}

int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const int mode = (flags & O_CREAT) != 0 ? va_arg(rest, int) : 0;
  va_end(rest);
  static auto* const system = system_call<int(const char*, int, ...)>("open");
  PowerCutDisk* const now = disk;
  const std::string name = recorded_name(now, path);
  const bool creates = !name.empty() && (flags & O_CREAT) != 0 && ::access(path, F_OK) != 0;
  if (creates) tell("create");
  const int descriptor = system(path, flags, mode);
  if (creates && descriptor >= 0) now->on_name_change("", name, inode_of(descriptor));
  return descriptor;
}

int rename(const char* from, const char* to) noexcept {
  static auto* const system = system_call<int(const char*, const char*)>("rename");
  PowerCutDisk* const now = disk;
  const std::string name = recorded_name(now, from);
  if (!name.empty()) tell("rename");
  const int failed = system(from, to);
  if (failed == 0 && !name.empty()) now->on_name_change(name, recorded_name(now, to), 0);
  if (!name.empty()) tell("renamed");
  return failed;
}

int unlink(const char* path) noexcept {
  static auto* const system = system_call<int(const char*)>("unlink");
  PowerCutDisk* const now = disk;
  const std::string name = recorded_name(now, path);
  if (!name.empty()) tell("unlink");
  const int failed = system(path);
  if (failed == 0 && !name.empty()) now->on_name_change(name, "", 0);
  if (!name.empty()) tell("unlinked");
  return failed;
}

}  // extern "C"

}  // namespace mayfly::internal
