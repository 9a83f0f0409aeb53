// SPDX-License-Identifier: Apache-2.0
#include "persist/aof/aof_manifest.h"

#include <fmt/format.h>

#include <algorithm>

#include "resp/inline_words.h"
#include "resp/numbers.h"

namespace mayfly {
namespace {

constexpr std::string_view kManifestSuffix = ".manifest";

bool is_plain(char byte) {
  const bool is_graphic = byte > ' ' && byte < 0x7F;
  return is_graphic && byte != '"' && byte != '\'' && byte != '\\';
}

// As split_inline() reads it back.
std::string quoted(std::string_view name) {
  std::string text = "\"";
  for (const char byte : name) {
    if (is_plain(byte) || byte == ' ' || byte == '\'') {
      text += byte;
    } else if (byte == '"' || byte == '\\') {
      text.append(1, '\\').append(1, byte);
    } else {
      text += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
    }
  }
  return text += '"';
}

void append_line(std::string& text, const AofPart& part) {
  const bool is_bare = !part.name.empty() && std::ranges::all_of(part.name, is_plain);
  text += fmt::format("file {} seq {} type {}\n", is_bare ? part.name : quoted(part.name),
                      part.sequence, part.type);
}

std::string upper(std::string_view word) {
  std::string text(word);
  for (char& byte : text) byte = byte >= 'a' && byte <= 'z' ? static_cast<char>(byte - 32) : byte;
  return text;
}

// Empty, or what is wrong with the pair.
std::string read_pair(std::string_view word, std::string_view value, AofPart& part) {
  const std::string key = upper(word);
  if (key == "FILE") {
    if (value.empty() || value.find('/') != value.npos || value == "." || value == "..") {
      return fmt::format("\"{}\" is not the name of a file", value);
    }
    part.name = value;
  } else if (key == "SEQ") {
    const auto number = parse_integer(value);
    if (!number || *number <= 0) return fmt::format("\"{}\" is not a sequence number", value);
    part.sequence = *number;
  } else if (key == "TYPE") {
    const bool is_known = value == "b" || value == "h" || value == "i";
    if (!is_known) return fmt::format("\"{}\" is not a type of file", value);
    part.type = value.front();
  }
  return {};
}

std::string read_line(std::string_view line, AofPart& part) {
  std::vector<std::string_view> words;
  std::string unquoted;
  if (!split_inline(line, words, unquoted)) return "its quotes are not balanced";
  if (words.size() % 2 != 0) return "a word has no value";
  part = {.name = {}, .sequence = 0, .type = 0};
  for (std::size_t i = 0; i < words.size(); i += 2) {
    std::string wrong = read_pair(words[i], words[i + 1], part);
    if (!wrong.empty()) return wrong;
  }
  if (part.name.empty()) return "it names no file";
  if (part.sequence == 0) return "it has no sequence number";
  if (part.type == 0) return "it has no type";
  return {};
}

std::string add(AofPart part, AofManifest& manifest) {
  if (part.type == 'b') {
    if (manifest.base) return "there is a second base";
    manifest.base = std::move(part);
  } else if (part.type == 'h') {
    manifest.history.push_back(std::move(part));
  } else {
    if (part.sequence <= manifest.last_increment()) {
      return fmt::format("increment {} comes after {}", part.sequence, manifest.last_increment());
    }
    manifest.increments.push_back(std::move(part));
  }
  return {};
}

}  // namespace

std::int64_t AofManifest::last_base() const { return base ? base->sequence : 0; }

std::int64_t AofManifest::last_increment() const {
  return increments.empty() ? 0 : increments.back().sequence;
}

AofPart AofManifest::next_base(std::string_view name, bool is_rdb) const {
  const std::int64_t number = last_base() + 1;
  return {fmt::format("{}.{}.base.{}", name, number, is_rdb ? "rdb" : "aof"), number, 'b'};
}

AofPart AofManifest::next_increment(std::string_view name) const {
  const std::int64_t number = last_increment() + 1;
  return {fmt::format("{}.{}.incr.aof", name, number), number, 'i'};
}

Result<AofManifest> parse_manifest(std::string_view text) {
  AofManifest manifest;
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.starts_with('#')) continue;

    AofPart part;
    std::string wrong = read_line(line, part);
    if (wrong.empty()) wrong = add(std::move(part), manifest);
    if (!wrong.empty()) {
      return Error{Code::corrupt, fmt::format("line {} of the manifest: {}", number, wrong)};
    }
  }
  if (manifest == AofManifest{}) return Error{Code::corrupt, "the manifest names no file"};
  return manifest;
}

std::string format_manifest(const AofManifest& manifest) {
  std::string text;
  if (manifest.base) append_line(text, *manifest.base);
  for (const AofPart& part : manifest.history) append_line(text, part);
  for (const AofPart& part : manifest.increments) append_line(text, part);
  return text;
}

std::string aof_path(const AofOptions& options, std::string_view name) {
  return fmt::format("{}/{}", options.directory, name);
}

std::string manifest_path(const AofOptions& options) {
  return aof_path(options, options.name).append(kManifestSuffix);
}

std::string parent_directory(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string AofFiles::path(const AofOptions& options, const AofPart& part) const {
  if (is_old && part.type == 'b') return old_aof_path(options);
  return aof_path(options, part.name);
}

std::string old_aof_path(const AofOptions& options) {
  return fmt::format("{}/{}", parent_directory(options.directory), options.name);
}

Result<std::string> read_file(Disk& disk, const std::string& path) {
  Result<std::unique_ptr<ByteSource>> source = disk.open(path);
  if (!source) return source.error();
  std::string bytes;
  for (;;) {
    char piece[4096];
    const Result<std::size_t> count = (*source)->read(piece);
    if (!count) return count.error();
    if (*count == 0) return bytes;
    bytes.append(piece, *count);
  }
}

// Redis 7 looks for a file of an older one in the same three cases: there is no directory, or no
// manifest in it, or one that was written just before the file was to be moved.
Result<AofFiles> find_aof(Disk& disk, const AofOptions& options) {
  AofFiles files;
  const bool has_old = disk.exists(old_aof_path(options));
  const AofManifest taken_over = {
      .base = AofPart{options.name, 1, 'b'}, .history = {}, .increments = {}};
  if (!disk.exists(manifest_path(options))) {
    if (has_old) files.manifest = taken_over;
    files.is_old = has_old;
    return files;
  }
  Result<std::string> text = read_file(disk, manifest_path(options));
  if (!text) return text.error();
  Result<AofManifest> manifest = parse_manifest(*text);
  if (!manifest) {
    return Error{manifest.error().code, manifest_path(options) + ": " + manifest.error().message};
  }
  const bool is_moved = disk.exists(aof_path(options, options.name));
  files.is_old = has_old && !is_moved && *manifest == taken_over;
  files.manifest = std::move(*manifest);
  return files;
}

}  // namespace mayfly
