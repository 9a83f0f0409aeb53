// SPDX-License-Identifier: Apache-2.0
#include "server/cluster/node/node_file.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstdint>

#include "server/replication/replication_stream.h"

namespace mayfly {
namespace {

constexpr std::size_t kFileMost = 4096;

std::string path_in(const std::string& directory) { return directory + "/cluster-node"; }

bool is_id(std::string_view text) {
  return text.size() == kIdDigits &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

Error corrupt(const std::string& path) {
  return {Code::corrupt,
          fmt::format("'{}' is no file of a node: expected the lines 'format 1' and 'node ID' "
                      "(restore it, or remove it with all data of this folder to start as a new "
                      "node)",
                      path)};
}

// Whether all of the text is a number; zero otherwise.
template <class Number>
bool read_number(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

// "register ID VERSION", of which both are numbers, and "accepted MS".
bool read_register(std::string_view line, NodeFile& file) {
  const std::size_t space = line.find(' ');
  return space != std::string_view::npos && read_number(line.substr(0, space), file.reg.id) &&
         read_number(line.substr(space + 1), file.reg.version);
}

// "shard ID EPOCH"
bool read_shard(std::string_view line, NodeFile& file) {
  const std::size_t space = line.find(' ');
  file.shard = line.substr(0, space);
  return space != std::string_view::npos && read_number(line.substr(space + 1), file.epoch);
}

bool read_accepted(std::string_view line, NodeFile& file) {
  std::int64_t ms = 0;
  const bool is_number = read_number(line, ms);
  file.accepted = Time(Millis(ms));
  return is_number;
}

Result<NodeFile> parse(std::string_view text, const std::string& path) {
  NodeFile file;
  bool has_format = false;
  bool is_good = true;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line == "format 1") has_format = true;
    if (line.starts_with("node ")) file.node = line.substr(5);
    if (line.starts_with("cluster ")) file.cluster = line.substr(8);
    if (line.starts_with("register ")) is_good = is_good && read_register(line.substr(9), file);
    if (line.starts_with("shard ")) is_good = is_good && read_shard(line.substr(6), file);
    if (line == "register-refused yes") file.is_register_refused = true;
    if (line.starts_with("accepted ")) is_good = is_good && read_accepted(line.substr(9), file);
  }
  if (!is_good || !has_format || !is_id(file.node) ||
      (!file.cluster.empty() && !is_id(file.cluster))) {
    return corrupt(path);
  }
  return file;
}

}  // namespace

Result<NodeFile> read_node_file(Disk& disk, const std::string& directory) {
  const std::string path = path_in(directory);
  if (!disk.exists(path)) {
    const NodeFile fresh{.node = random_id(), .cluster = ""};
    if (Status status = write_node_file(disk, directory, fresh); !status) return status.error();
    return fresh;
  }
  Result<std::unique_ptr<ByteSource>> source = disk.open(path);
  if (!source) return source.error();
  if ((*source)->size() > kFileMost) return corrupt(path);
  std::string text((*source)->size(), '\0');
  const Result<std::size_t> count = (*source)->read(text);
  if (!count) return count.error();
  text.resize(*count);
  return parse(text, path);
}

Status write_node_file(Disk& disk, const std::string& directory, const NodeFile& file) {
  const std::string path = path_in(directory);
  const std::string next = path + ".new";
  Result<std::unique_ptr<DiskFile>> out = disk.create(next);
  if (!out) return out.error();
  std::string text = fmt::format("format 1\nnode {}\n", file.node);
  if (!file.cluster.empty()) text += fmt::format("cluster {}\n", file.cluster);
  if (file.reg.id != 0) text += fmt::format("register {} {}\n", file.reg.id, file.reg.version);
  if (file.is_register_refused) text += "register-refused yes\n";
  if (file.accepted != Time{}) {
    text += fmt::format("accepted {}\n", file.accepted.time_since_epoch().count());
  }
  if (!file.shard.empty()) text += fmt::format("shard {} {}\n", file.shard, file.epoch);
  Status status = (*out)->write(text);
  if (status) status = (*out)->sync();
  if (status) status = disk.rename(next, path);
  if (status) status = disk.sync_directory(directory);
  return status;
}

}  // namespace mayfly
