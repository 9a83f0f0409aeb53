// SPDX-License-Identifier: Apache-2.0
// An append-only file that was not loaded, or only in part, gets second names before its end.

#include "persist/aof/aof_manifest.h"
#include "server/persistence/aof_writer.h"
#include "server/persistence/aside/files_aside.h"

namespace mayfly {
namespace {

std::string_view suffix_of(AofWriter::LeftOut what) {
  switch (what) {
    case AofWriter::LeftOut::failed:
      return "failed";
    case AofWriter::LeftOut::not_loaded:
      return "not-loaded";
    default:
      return "unsupported";
  }
}

}  // namespace

Status AofWriter::keep_loaded() {
  const Result<std::string> folder = link_files_aside(suffix_of(left_out_));
  if (!folder) return folder.error();
  if (folder->empty()) return Done{};
  left_out_ = LeftOut::nothing;
  context_.log.notice("The former append-only file, with all its commands, is kept in '{}'",
                      *folder);
  return Done{};
}

Result<std::string> AofWriter::link_files_aside(std::string_view why) {
  Disk& disk = context_.host.disk();
  const AofOptions& from = aof_->options();
  const Result<AofFiles> files = find_aof(disk, from);
  if (!files) return files.error();
  if (!files->manifest || files->is_old) return std::string();
  AofOptions to = from;
  to.directory = unused_name(disk, from.directory, why);
  if (Status status = disk.make_directory(to.directory); !status) return status.error();
  std::vector<AofPart> parts = files->manifest->increments;
  if (files->manifest->base) parts.push_back(*files->manifest->base);
  for (const AofPart& part : parts) {
    Status status = disk.link(aof_path(from, part.name), aof_path(to, part.name));
    if (!status) return status.error();
  }
  Status status = disk.link(manifest_path(from), manifest_path(to));
  if (status) status = disk.sync_directory(to.directory);
  if (status) status = disk.sync_directory(parent_directory(to.directory));
  if (!status) return status.error();
  return to.directory;
}

}  // namespace mayfly
