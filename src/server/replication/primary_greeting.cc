// SPDX-License-Identifier: Apache-2.0
// What a replica and its primary say before there is data: who it is, what it understands, and
// where it wants to go on.

#include <fmt/format.h>

#include "base/version.h"
#include "resp/encode.h"
#include "resp/numbers.h"
#include "server/core/server.h"
#include "server/replication/primary_link.h"
#include "server/replication/replication.h"

namespace mayfly {
namespace {

// The steps of a greeting, in order.
enum Step : int { kPing, kAuth, kPort, kIp, kCapabilities, kVersion, kPsync };

std::vector<std::string_view> split(std::string_view line) {
  std::vector<std::string_view> words;
  while (!line.empty()) {
    const std::size_t end = std::min(line.find(' '), line.size());
    if (end > 0) words.push_back(line.substr(0, end));
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return words;
}

}  // namespace

std::vector<std::string> PrimaryLink::words_of_step() const {
  const Config& config = server_.config();
  const Replication& replication = server_.replication();
  switch (step_) {
    case kPing:
      return {"PING"};
    case kAuth:
      if (config.primaryauth.empty()) return {};
      if (config.primaryuser.empty()) return {"AUTH", config.primaryauth};
      return {"AUTH", config.primaryuser, config.primaryauth};
    case kPort: {
      const std::int64_t announced = config.replica_announce_port;
      const std::int64_t ours = announced > 0 ? announced : server_.surroundings().port();
      return {"REPLCONF", "listening-port", std::to_string(ours)};
    }
    case kIp:
      if (config.replica_announce_ip.empty()) return {};
      return {"REPLCONF", "ip-address", config.replica_announce_ip};
    case kCapabilities:
      return {"REPLCONF", "capa", "eof", "capa", "psync2"};
    case kVersion:
      return {"REPLCONF", "version", std::string(kMayflyVersion)};
    default:
      break;
  }
  // Only if all that we have is in the log can we go on in it.
  std::vector<std::string> words = {"PSYNC", "?", "-1"};
  if (replication.has_log()) {
    words[1] = replication.history().id;
    words[2] = std::to_string(replication.log().end() + 1);
  }
  if (takes_over_) words.emplace_back("FAILOVER");
  return words;
}

void PrimaryLink::say_next() {
  std::vector<std::string> words = words_of_step();
  while (words.empty()) {
    ++step_;
    words = words_of_step();
  }
  append_request(link_->output(), words);
}

bool PrimaryLink::read_line(InputBuffer& input, std::string& line) {
  constexpr std::size_t kLongest = 64 * 1024;
  const std::string_view bytes = input.view();
  const std::size_t end = bytes.find('\n');
  if (end == std::string_view::npos) {
    if (bytes.size() > kLongest) disconnect("it sends no line where one should be");
    return false;
  }
  line = bytes.substr(0, end);
  if (line.ends_with('\r')) line.pop_back();
  input.consume(end + 1);
  return true;
}

void PrimaryLink::greeted(std::string_view line) {
  if (step_ == kPsync) return synchronise(line);
  const bool is_error = line.starts_with('-');
  // Whether a password is needed is not known before; and old ones do not know all of this.
  const bool may_fail = step_ > kAuth || line.starts_with("-NOAUTH") ||
                        line.starts_with("-NOPERM") ||
                        line.starts_with("-ERR operation not permitted");
  if (is_error && !may_fail) {
    server_.log().write(Level::warning,
                        fmt::format("The primary {}:{} says '{}'{}", host_, port_, line.substr(1),
                                    step_ == kAuth ? ": see masterauth and masteruser" : ""));
    return disconnect("it refuses us");
  }
  if (step_ == kPing && is_error && server_.config().primaryauth.empty()) {
    server_.log().write(Level::warning, "The primary wants a password, and masterauth is not set");
    return disconnect("it wants a password");
  }
  ++step_;
  say_next();
}

// +CONTINUE [id], +FULLRESYNC id offset, or an error.
void PrimaryLink::synchronise(std::string_view line) {
  const std::vector<std::string_view> words = split(line);
  Replication& replication = server_.replication();
  if (words[0] == "+CONTINUE") {
    if (takes_over_) replication.failover().accepted();
    takes_over_ = false;
    if (words.size() > 1) replication.rename_history(std::string(words[1]));
    server_.log().write(Level::notice,
                        fmt::format("The primary goes on at {}", replication.log().end() + 1));
    return begin_stream();
  }
  const std::int64_t offset = words.size() == 3 ? parse_integer(words[2]).value_or(-1) : -1;
  if (words[0] == "+FULLRESYNC" && offset >= 0 && words[1].size() == 40) {
    if (takes_over_) replication.failover().accepted();
    takes_over_ = false;
    return begin_transfer(words[1], static_cast<std::uint64_t>(offset));
  }
  server_.log().write(Level::warning, fmt::format("The primary does not synchronise: {}", line));
  if (takes_over_) replication.failover().refused(line);
  disconnect("it does not synchronise");
}

}  // namespace mayfly
