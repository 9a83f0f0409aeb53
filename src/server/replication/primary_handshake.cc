// SPDX-License-Identifier: Apache-2.0
// The handshake of a replica with its primary, before there is data: authentication, what the
// replica supports, and the offset from which it wants to go on.

#include <fmt/format.h>

#include "base/version.h"
#include "resp/encode.h"
#include "resp/numbers.h"
#include "server/core/client.h"
#include "server/replication/foreign_replica.h"
#include "server/replication/primary_link.h"
#include "server/replication/replication.h"
#include "text/byte_text.h"

namespace mayfly {
namespace {

// The steps of the handshake, in order.
enum Step : int { kPing, kAuth, kPort, kIp, kCapabilities, kVersion, kNode, kPsync };

// Far below what a signed number holds, as the offset grows by all that follows.
constexpr std::int64_t kOffsetMax = std::int64_t{1} << 62;

std::vector<std::string_view> split_line(std::string_view line) {
  std::vector<std::string_view> words;
  while (!line.empty()) {
    const std::size_t end = std::min(line.find(' '), line.size());
    if (end > 0) words.push_back(line.substr(0, end));
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return words;
}

}  // namespace

std::string PrimaryLink::shown_line(std::string_view line) {
  constexpr std::size_t kLongest = 200;
  return escape_controls(line.substr(0, kLongest));
}

std::vector<std::string> PrimaryLink::words_of_step() const {
  const Config& config = context_.config;
  switch (step_) {
    case kPing:
      return {"PING"};
    case kAuth:
      if (config.primaryauth.empty()) return {};
      if (config.primaryuser.empty()) return {"AUTH", config.primaryauth};
      return {"AUTH", config.primaryuser, config.primaryauth};
    case kPort: {
      const std::int64_t announced = config.replica_announce_port;
      const std::int64_t ours = announced > 0 ? announced : context_.host.port();
      return {"REPLCONF", "listening-port", std::to_string(ours)};
    }
    case kIp:
      if (config.replica_announce_ip.empty()) return {};
      return {"REPLCONF", "ip-address", config.replica_announce_ip};
    case kCapabilities:
      return {"REPLCONF", "capa", "eof", "capa", "psync2", "capa", std::string(kMemberDeadlines)};
    case kVersion:
      return {"REPLCONF", "version", std::string(kMayflyVersion)};
    case kNode:
      if (context_.replication.cluster() == nullptr) return {};
      return {"REPLCONF", "cluster-node", context_.replication.cluster()->node_word()};
    default:
      break;
  }
  // A partial synchronisation needs a log of all data.
  std::vector<std::string> words = {"PSYNC", "?", "-1"};
  if (can_continue()) {
    words[1] = context_.stream.ids().id;
    words[2] = std::to_string(context_.stream.log().end() + 1);
  }
  if (takes_over_) words.emplace_back("FAILOVER");
  return words;
}

bool PrimaryLink::can_continue() const { return context_.stream.is_open(); }

void PrimaryLink::send_next_step() {
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
    if (bytes.size() > kLongest) disconnect("a line of its answer is too long");
    return false;
  }
  line = bytes.substr(0, end);
  if (line.ends_with('\r')) line.pop_back();
  input.consume(end + 1);
  return true;
}

void PrimaryLink::step_answered(std::string_view line) {
  if (step_ == kPsync) return synchronise(line);
  const bool is_error = line.starts_with('-');
  // Whether a password is needed is not known before; old servers do not know all steps.
  const bool may_fail = step_ > kAuth || line.starts_with("-NOAUTH") ||
                        line.starts_with("-NOPERM") ||
                        line.starts_with("-ERR operation not permitted");
  if (is_error && !may_fail) {
    context_.log.warning("The primary {}:{} answered '{}'{}", host_, port_,
                         shown_line(line.substr(1)),
                         step_ == kAuth ? " (check masterauth and masteruser)" : "");
    return disconnect("it refused the handshake");
  }
  if (step_ == kPing && is_error && context_.config.primaryauth.empty()) {
    context_.log.warning("The primary requires a password, and masterauth is not set");
    return disconnect("it requires a password");
  }
  ++step_;
  send_next_step();
}

// +CONTINUE [id], +FULLRESYNC id offset, or an error.
void PrimaryLink::synchronise(std::string_view line) {
  const std::vector<std::string_view> words = split_line(line);
  const std::string_view answer = words.empty() ? std::string_view() : words[0];
  if (answer == "+CONTINUE" && can_continue() &&
      (words.size() == 1 || (words.size() == 2 && is_replication_id(words[1])))) {
    return continue_with(words.size() == 2 ? words[1] : context_.stream.ids().id);
  }
  const std::int64_t offset = words.size() == 3 ? parse_integer(words[2]).value_or(-1) : -1;
  if (answer == "+FULLRESYNC" && offset >= 0 && offset <= kOffsetMax &&
      is_replication_id(words[1])) {
    accepted();
    ClusterRole* const cluster = context_.replication.cluster();
    if (cluster != nullptr && !cluster->may_drop_data()) {
      context_.log.notice("A full synchronisation waits: this node is still in the in-sync set");
      return disconnect("this node is still in the in-sync set");
    }
    return begin_transfer(words[1], static_cast<std::uint64_t>(offset));
  }
  context_.log.warning("The primary refused to synchronise: {}", shown_line(line));
  if (takes_over_) context_.replication.failover().refused(shown_line(line));
  disconnect("it refused to synchronise");
}

void PrimaryLink::accepted() {
  if (takes_over_) context_.replication.failover().accepted();
  takes_over_ = false;
}

void PrimaryLink::continue_with(std::string_view id) {
  accepted();
  if (id != context_.stream.ids().id) {
    context_.stream.change_id(std::string(id));
    context_.replication.replicas().disconnect_all("the replication id has changed");
  }
  if (context_.replication.last_role().has_led()) context_.replication.last_role().note();
  context_.log.notice("Partial synchronisation with the primary from offset {}",
                      context_.stream.log().end() + 1);
  begin_stream();
}

}  // namespace mayfly
