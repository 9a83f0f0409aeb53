// SPDX-License-Identifier: Apache-2.0
#include "cli/aof/aof_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "cli/rdb/rdb_check.h"
#include "persist/aof/aof_reader.h"
#include "persist/rdb/rdb_parser.h"

namespace mayfly {
namespace {

constexpr std::string_view kManifestEnd = ".manifest";
constexpr std::size_t kPiece = 64 * 1024;

// `word` is given in small letters.
bool is_word(std::string_view text, std::string_view word) {
  return std::ranges::equal(text, word, [](char a, char b) { return (a | 0x20) == b; });
}

// The first bytes of a file; fewer if it is short.
Result<std::string> magic_of(Disk& disk, const std::string& path) {
  const auto source = disk.open(path);
  if (!source) return source.error();
  std::array<char, 6> bytes{};
  const Result<std::size_t> count = (*source)->read(bytes);
  if (!count) return count.error();
  return std::string(bytes.data(), *count);
}

// Appends the bytes of a file from `offset` on to another one.
Status copy_end(Disk& disk, const std::string& from, std::uint64_t offset, const std::string& to) {
  const auto source = disk.open(from, offset);
  if (!source) return source.error();
  const auto target = disk.create(to);
  if (!target) return target.error();
  std::string piece(kPiece, '\0');
  for (;;) {
    const Result<std::size_t> count = (*source)->read({piece.data(), piece.size()});
    if (!count) return count.error();
    if (*count == 0) break;
    const std::string_view bytes = std::string_view(piece).substr(0, *count);
    if (const Status written = (*target)->write(bytes); !written) return written;
  }
  return (*target)->sync();
}

}  // namespace

Result<AofOptions> find_aof_options(Disk& disk, const std::string& path) {
  AofOptions options;
  std::string manifest;
  if (path.ends_with(kManifestEnd)) {
    options.directory = parent_directory(path);
    manifest = path.substr(path.rfind('/') + 1);
  } else {
    options.directory = path;
    const Result<std::vector<std::string>> names = disk.list(path);
    if (!names) {
      return Error{names.error().code,
                   fmt::format("{} (give the folder of the append-only file, or its manifest)",
                               names.error().message)};
    }
    for (const std::string& name : *names) {
      if (!name.ends_with(kManifestEnd) || name.starts_with("temp-")) continue;
      if (!manifest.empty()) {
        return Error{Code::invalid,
                     fmt::format("{} has several manifests (give the path of one)", path)};
      }
      manifest = name;
    }
  }
  if (manifest.empty()) {
    return Error{Code::not_found,
                 fmt::format("there is no append-only file in {}: no file with the "
                             "end {} (give the folder appenddirname)",
                             path, kManifestEnd)};
  }
  options.name = manifest.substr(0, manifest.size() - kManifestEnd.size());
  return options;
}

Result<AofCheckReport> AofCheck::run() {
  report_ = {};
  const Result<AofFiles> files = find_aof(disk_, options_);
  if (!files) return files.error();
  if (!files->manifest) {
    return Error{Code::not_found,
                 fmt::format("there is no append-only file in {}", options_.directory)};
  }
  std::vector<AofPart> parts;
  if (files->manifest->base) parts.push_back(*files->manifest->base);
  parts.insert(parts.end(), files->manifest->increments.begin(), files->manifest->increments.end());
  std::vector<std::uint64_t> sizes;
  for (const AofPart& part : parts) {
    const auto source = disk_.open(files->path(options_, part));
    if (!source) return source.error();
    sizes.push_back((*source)->size());
  }
  for (std::size_t i = 0; i < parts.size() && !report_.damage; ++i) {
    const bool is_last = std::all_of(sizes.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                                     sizes.end(), [](std::uint64_t size) { return size == 0; });
    report_.files.push_back({parts[i].name, sizes[i]});
    const std::string path = files->path(options_, parts[i]);
    if (const Status status = look_at(path, parts[i].type == 'b', is_last); !status) {
      return status.error();
    }
  }
  return std::move(report_);
}

Status AofCheck::look_at(const std::string& path, bool is_base, bool is_last) {
  std::uint64_t from = 0;
  const Result<std::string> magic = is_base ? magic_of(disk_, path) : std::string();
  if (!magic) return magic.error();
  if (magic->starts_with("REDIS") || magic->starts_with("VALKEY")) {
    const Result<bool> is_good = look_at_snapshot(path, from);
    if (!is_good) return is_good.error();
    if (!*is_good) return Done{};
  } else if (is_base && path.ends_with(".rdb")) {
    found(path, 0, "it is not an RDB file", false, false);
    return Done{};
  }
  return look_at_commands(path, from, is_last);
}

Result<bool> AofCheck::look_at_snapshot(const std::string& path, std::uint64_t& end) {
  const auto source = disk_.open(path);
  if (!source) return source.error();
  RdbCheck checker;
  RdbParser parser(**source, checker);
  for (;;) {
    const Result<bool> ended = parser.step();
    if (!ended && ended.error().code != Code::corrupt) return ended.error();
    if (!ended) {
      found(path, parser.offset(), ended.error().message, false, false);
      return false;
    }
    if (*ended) break;
  }
  end = parser.offset();
  report_.files.back().keys = checker.keys();
  return true;
}

Status AofCheck::look_at_commands(const std::string& path, std::uint64_t from, bool is_last) {
  const auto source = disk_.open(path, from);
  if (!source) return source.error();
  AofCheckedFile& file = report_.files.back();
  AofReader reader(**source, from, file.bytes);
  std::optional<std::uint64_t> unit_at;  // where the transaction under way began
  std::uint64_t unit_commands = 0;
  for (;;) {
    const Result<AofReader::Found> next = reader.next();
    if (!next) return next.error();
    const std::uint64_t whole = unit_at.value_or(reader.end());
    if (*next == AofReader::Found::malformed) {
      const Result<bool> is_zero = is_zero_from(disk_, path, reader.error_offset());
      if (!is_zero) return is_zero.error();
      found(path, whole,
            *is_zero ? "zeros up to the end, as a power cut leaves them"
                     : fmt::format("at offset {}: {}", reader.error_offset(), reader.error()),
            is_last, *is_zero);
      return Done{};
    }
    if (*next == AofReader::Found::command) {
      const std::string_view name = reader.words().front();
      const bool begins = is_word(name, "multi");
      const bool ends = is_word(name, "exec");
      if ((begins && unit_at) || (ends && !unit_at)) {
        const std::uint64_t at = unit_at.value_or(reader.begin());
        found(path, at, begins ? "MULTI within a transaction" : "EXEC without MULTI", is_last,
              false);
        return Done{};
      }
      if (begins) unit_at = reader.begin();
      ++unit_commands;
      if (ends) unit_at.reset();
      if (!unit_at) file.commands += std::exchange(unit_commands, 0);
      continue;
    }
    if (*next == AofReader::Found::end && !unit_at) return Done{};
    found(path, whole, unit_at ? "a transaction that is not whole" : "a command that is not whole",
          is_last, true);
    return Done{};
  }
}

void AofCheck::found(const std::string& path, std::uint64_t at, std::string what, bool can_be_cut,
                     bool is_harmless) {
  const std::uint64_t bytes = report_.files.back().bytes;
  report_.damage = AofDamage{
      path,      at, bytes - std::min(bytes, at), std::move(what), is_harmless && can_be_cut,
      can_be_cut};
}

Result<std::string> AofCheck::cut(const AofDamage& damage) {
  const auto lock = disk_.lock(options_.directory, "mayfly aof --fix");
  if (!lock) return lock.error();
  std::string kept;
  for (int number = 1; kept.empty() || disk_.exists(kept); ++number) {
    kept = fmt::format("{}.cut-{}", damage.path, number);
  }
  if (const Status copied = copy_end(disk_, damage.path, damage.at, kept); !copied) {
    return copied.error();
  }
  if (const Status synced = disk_.sync_directory(parent_directory(damage.path)); !synced) {
    return synced.error();
  }
  const auto file = disk_.append(damage.path);
  if (!file) return file.error();
  if (const Status done = (*file)->truncate(damage.at); !done) return done.error();
  if (const Status synced = (*file)->sync(); !synced) return synced.error();
  return kept;
}

}  // namespace mayfly
