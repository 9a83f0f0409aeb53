// SPDX-License-Identifier: Apache-2.0
#include "server/replication/role/last_role.h"

#include <fmt/format.h>

#include <array>
#include <memory>

namespace mayfly {
namespace {

constexpr std::string_view kName = "replication-role";
constexpr std::string_view kPrimary = "primary";

Status write_file(Disk& disk, const std::string& path, const std::string& folder,
                  std::string_view text) {
  const std::string temporary = path + ".new";
  auto file = disk.create(temporary);
  if (!file) return file.error();
  if (Status status = (*file)->write(text); !status) return status;
  if (Status status = (*file)->sync(); !status) return status;
  if (Status status = disk.rename(temporary, path); !status) return status;
  return disk.sync_directory(folder);
}

}  // namespace

std::string LastRole::path() const { return fmt::format("{}/{}", context_.config.dir, kName); }

std::string LastRole::present() const {
  const Config& config = context_.config;
  if (config.replicaof_host.empty()) return std::string(kPrimary);
  return fmt::format("replica {} {}", config.replicaof_host, config.replicaof_port);
}

std::string LastRole::read() const {
  Disk& disk = context_.host.disk();
  if (!disk.exists(path())) return {};
  const auto file = disk.open(path());
  if (!file) return {};
  std::array<char, 512> bytes{};
  const Result<std::size_t> count = (*file)->read(bytes);
  if (!count) return {};
  const std::string_view text(bytes.data(), *count);
  return std::string(text.substr(0, text.find('\n')));
}

void LastRole::compare() {
  if (context_.config.cluster_enabled) return;
  const std::string last = read();
  const std::string configured = present();
  if (last.empty() || last == configured) return;
  if (last != kPrimary && configured != kPrimary) return;  // it follows another server now
  has_led_ = last == kPrimary;
  if (has_led_) {
    context_.log.warning(
        "This server was a primary when it stopped (a FAILOVER, REPLICAOF NO ONE or Sentinel had "
        "made it one), and its configuration tells it to follow {}:{}. If that server has older "
        "data, stop both and start them with their present roles",
        context_.config.replicaof_host, context_.config.replicaof_port);
    return;
  }
  context_.log.warning(
      "This server was a replica when it stopped ({}), and its configuration makes it a primary. "
      "If the other server leads, stop this one and start it with --replicaof HOST PORT: it may "
      "lack writes",
      last);
  note();
}

void LastRole::note() {
  has_led_ = false;
  if (context_.config.cluster_enabled || read() == present()) return;
  const Status written =
      write_file(context_.host.disk(), path(), context_.config.dir, present() + "\n");
  if (!written) {
    context_.log.warning("Cannot note the role of this server: {}", written.error().message);
  }
}

}  // namespace mayfly
