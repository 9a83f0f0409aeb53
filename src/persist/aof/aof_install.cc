// SPDX-License-Identifier: Apache-2.0
// Aof: which files there are. Opening, rewriting, and the order in which names become durable.

#include <algorithm>
#include <cassert>
#include <utility>

#include "persist/aof/aof.h"

namespace mayfly {
namespace {

constexpr std::string_view kTemporary = "temp-";

}  // namespace

Status check_aof_directory(Disk& disk, const AofOptions& options) {
  if (const Result<AofFiles> files = find_aof(disk, options); !files) return files.error();
  if (Status status = disk.make_directory(options.directory); !status) return status;
  const std::string probe =
      aof_path(options, std::string(kTemporary).append(options.name).append(".probe"));
  Result<std::unique_ptr<DiskFile>> file = disk.create(probe);
  if (!file) return file.error();
  Status status = (*file)->write("x");
  if (status) status = (*file)->sync();
  (void)disk.remove(probe);  // the first error is reported
  return status;
}

// ---- Opening ----

Status Aof::open() {
  assert(!is_open());
  Status status = open_files();
  if (!status) {
    close();
    return status;
  }
  is_in_force_ = true;
  base_bytes_ = size();
  remove_leftovers();
  remove_history();
  return status;
}

Status Aof::open_files() {
  Result<AofFiles> files = find_aof(disk_, options_);
  if (!files) return files.error();
  manifest_ = files->manifest.value_or(AofManifest{});
  if (Status status = make_directory(); !status) return status;
  if (files->is_old) {
    if (Status status = adopt_old_file(); !status) return status;
  }
  if (manifest_.base) older_bytes_ = bytes_of(*manifest_.base);
  return manifest_.increments.empty() ? begin_increment() : open_last_increment();
}

Status Aof::make_directory() {
  if (Status status = disk_.make_directory(options_.directory); !status) return status;
  return disk_.sync_directory(parent_directory(options_.directory));
}

// The manifest comes first, as Redis does it: should the power go before the file is moved, it is
// found where it was (find_aof).
Status Aof::adopt_old_file() {
  if (Status status = write_manifest(manifest_); !status) return status;
  const std::string to = aof_path(options_, options_.name);
  if (Status status = disk_.rename(old_aof_path(options_), to); !status) return status;
  if (Status status = disk_.sync_directory(options_.directory); !status) return status;
  return disk_.sync_directory(parent_directory(options_.directory));
}

// A killed process may not have synced what it wrote, and we have loaded it.
Status Aof::open_last_increment() {
  for (const AofPart& part : manifest_.increments) older_bytes_ += bytes_of(part);
  increment_ = manifest_.increments.back();
  Result<std::unique_ptr<DiskFile>> file = disk_.append(aof_path(options_, increment_.name));
  if (!file) return file.error();
  older_bytes_ -= (*file)->size();
  if (Status status = (*file)->sync(); !status) return status;
  file_ = std::move(*file);
  return disk_.sync_directory(options_.directory);
}

void Aof::close() {
  background_.wait();
  file_.reset();
  buffer_.clear();
  synced_ = appended_;  // nothing is left to be synced; synced_offset() does not tell: see frozen_
  cut_to_.reset();
  database_ = -1;
  older_bytes_ = 0;
  is_in_force_ = false;
  is_manifest_durable_ = true;
}

// ---- The manifest ----

// Sets manifest_ once it is what NAME.manifest says, even if that is not durable then.
Status Aof::write_manifest(const AofManifest& manifest) {
  const std::string to = manifest_path(options_);
  std::string temporary(kTemporary);
  temporary.append(options_.name).append(".manifest");
  temporary = aof_path(options_, temporary);
  Result<std::unique_ptr<DiskFile>> file = disk_.create(temporary);
  if (!file) return file.error();
  Status status = (*file)->write(format_manifest(manifest));
  if (status) status = (*file)->sync();
  if (status) status = disk_.rename(temporary, to);
  if (!status) {
    (void)disk_.remove(temporary);  // the first error is reported
    return status;
  }
  manifest_ = manifest;
  is_manifest_durable_ = false;
  return make_manifest_durable();
}

Status Aof::make_manifest_durable() {
  if (is_manifest_durable_) return Done{};
  if (Status status = disk_.sync_directory(options_.directory); !status) return status;
  is_manifest_durable_ = true;
  unfreeze_offset();
  return Done{};
}

// An empty increment after the present one. Its name is durable before the manifest's, so that the
// manifest never names what is not there. REQUIRES: all that was written is synced.
Status Aof::begin_increment() {
  AofManifest next = manifest_;
  next.increments.push_back(manifest_.next_increment(options_.name));
  const AofPart part = next.increments.back();
  Result<std::unique_ptr<DiskFile>> file = disk_.create(aof_path(options_, part.name));
  if (!file) return file.error();
  Status status = (*file)->sync();  // that it is empty: a leftover may have had its name
  if (status) status = disk_.sync_directory(options_.directory);
  if (status) status = write_manifest(next);
  if (manifest_ != next) {
    (void)disk_.remove(aof_path(options_, part.name));
    return status;
  }
  if (file_) older_bytes_ += file_->size();
  file_ = std::move(*file);
  increment_ = part;
  return status;
}

// Files are removed durably before the manifest drops them. Failures are retried after the next
// rewrite or when the log is opened.
void Aof::remove_history() {
  if (manifest_.history.empty() || !is_manifest_durable_) return;
  AofManifest next = manifest_;
  std::erase_if(next.history, [&](const AofPart& part) {
    return disk_.remove(aof_path(options_, part.name)).ok();
  });
  if (next == manifest_) return;
  if (disk_.sync_directory(options_.directory)) (void)write_manifest(next);
}

void Aof::remove_leftovers() {
  const Result<std::vector<std::string>> names = disk_.list(options_.directory);
  if (!names) return;
  const std::string prefix = std::string(kTemporary).append(options_.name);
  for (const std::string& name : *names) {
    if (name.starts_with(prefix)) (void)disk_.remove(aof_path(options_, name));
  }
}

std::uint64_t Aof::bytes_of(const AofPart& part) const {
  const Result<std::unique_ptr<ByteSource>> file = disk_.open(aof_path(options_, part.name));
  return file ? (*file)->size() : 0;
}

// ---- Rewriting ----

std::string Aof::temporary_base() const {
  const AofPart base = manifest_.next_base(options_.name, is_base_rdb_);
  return aof_path(options_, std::string(kTemporary).append(base.name));
}

Result<std::string> Aof::begin_rewrite() {
  assert(!is_rewriting());
  Status status = Done{};
  if (!is_open()) {
    status = begin_not_in_force();
    if (!status) close();
  } else {
    status = sync_now();
    if (status && file_->size() > 0) status = begin_increment();
    database_ = -1;  // what is appended from now on must be good without what was before
  }
  if (!status) return status.error();
  is_rewriting_ = true;
  is_doubtful_since_rewrite_ = false;
  is_base_rdb_ = options_.rdb_preamble;
  return temporary_base();
}

// An existing manifest is outdated: it stays until there is a base.
Status Aof::begin_not_in_force() {
  const Result<AofFiles> files = find_aof(disk_, options_);
  if (!files) return files.error();
  manifest_ = files->is_old ? AofManifest{} : files->manifest.value_or(AofManifest{});
  if (Status status = make_directory(); !status) return status;
  increment_ = manifest_.next_increment(options_.name);
  Result<std::unique_ptr<DiskFile>> file = disk_.create(aof_path(options_, increment_.name));
  if (!file) return file.error();
  if (Status status = (*file)->sync(); !status) return status;
  file_ = std::move(*file);
  older_bytes_ = 0;
  if (!frozen_) frozen_ = last_synced();
  return Done{};
}

Status Aof::finish_rewrite() {
  assert(is_rewriting());
  const AofPart base = manifest_.next_base(options_.name, is_base_rdb_);
  const std::string path = aof_path(options_, base.name);
  Status status = install_base(path);
  if (!status) {
    abort_rewrite();
    return status;
  }
  AofManifest next = {.base = base, .history = manifest_.history, .increments = {increment_}};
  const auto retire = [&](AofPart part) {
    part.type = 'h';
    if (part.name != increment_.name) next.history.push_back(std::move(part));
  };
  if (manifest_.base) retire(*manifest_.base);
  for (const AofPart& part : manifest_.increments) retire(part);

  status = write_manifest(next);
  if (manifest_ != next) {
    (void)disk_.remove(path);
    abort_rewrite();
    return status;
  }
  finish_install();
  remove_history();
  return status;
}

// The whole base under its name, durably. The names of what was created since are, too.
Status Aof::install_base(const std::string& path) {
  const std::string temporary = temporary_base();
  if (!disk_.exists(temporary)) return Error{Code::not_found, "there is no " + temporary};
  Result<std::unique_ptr<DiskFile>> file = disk_.append(temporary);
  if (!file) return file.error();
  if (Status status = (*file)->sync(); !status) return status;
  if (Status status = disk_.rename(temporary, path); !status) return status;
  return disk_.sync_directory(options_.directory);
}

void Aof::finish_install() {
  older_bytes_ = bytes_of(*manifest_.base);
  base_bytes_ = size();
  is_in_force_ = true;
  is_rewriting_ = false;
  is_doubtful_ = is_doubtful_since_rewrite_;
  unfreeze_offset();
}

// Synced data counts if its log is in force.
void Aof::unfreeze_offset() {
  if (is_in_force_ && is_manifest_durable_ && !is_doubtful_) frozen_.reset();
}

void Aof::abort_rewrite() {
  assert(is_rewriting());
  is_rewriting_ = false;
  (void)disk_.remove(temporary_base());
  if (is_in_force_) return;
  const std::string increment = aof_path(options_, increment_.name);
  close();
  (void)disk_.remove(increment);
}

}  // namespace mayfly
