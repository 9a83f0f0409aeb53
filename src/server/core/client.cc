// SPDX-License-Identifier: Apache-2.0
// Taking requests off a connection.

#include "server/core/client.h"

#include "server/core/server.h"
#include "server/replication/primary_link.h"
#include "server/replication/replication.h"

namespace mayfly {
namespace {

// A pipeline whose replies are larger goes on in the next turn, when they have been written.
constexpr std::size_t kOutputAtOnce = 1 << 20;

}  // namespace

Client::Client(Server& server, Link& link, std::uint64_t id, Time now)
    : created(now),
      used(now),
      server_(server),
      link_(link),
      id_(id),
      parser_(server.request_limits()) {
  set_authenticated(server.config().requirepass.empty());
}

Client::~Client() = default;

void Client::set_authenticated(bool is) {
  is_authenticated_ = is;
  parser_.limits().authenticated = is;
}

void Client::received(InputBuffer& input) {
  const std::size_t before = input.size();
  const std::size_t waiting_before = link_.pending();
  const auto consume = [&](std::size_t count) {
    PrimaryLink* const primary = is_primary ? server_.replication().primary() : nullptr;
    if (primary != nullptr) primary->applied(input.view().substr(0, count));
    input.consume(count);
  };
  while (!input.empty() && !link_.closing() && !wait) {
    const Parsed parsed = parser_.parse(input.view());
    if (parsed == Parsed::request) {
      if (!server_.handle(*this, parser_.words())) {  // it waits for the end of a pause
        parser_.reset();
        is_paused = true;
        link_.pause_reading();
        break;
      }
      consume(parser_.consumed());
      if (link_.pending() > waiting_before + kOutputAtOnce && !wait) {
        link_.pause_reading();
        link_.resume_reading();  // the rest comes in the next turn
        break;
      }
    } else if (parsed == Parsed::incomplete) {
      consume(parser_.consumed());
      if (parser_.wanted() > 0) input.want(parser_.wanted());
      break;
    } else {
      input.consume(input.size());
      server_.refuse_protocol(*this, parser_.error());
      break;
    }
  }
  const std::size_t taken = before - input.size();
  bytes_in += taken;
  server_.stats().bytes_in += taken;
  server_.check_input(*this, input.size());
  server_.count_memory(*this);
}

void Client::drained() {
  if (is_attached_replica()) server_.replication().replicas().pump(*this);
}

void Client::closed(std::string_view) {
  server_.stats().bytes_out += link_.sent();
  server_.forget(*this);
}

void Client::end_request() {
  is_running_ = false;
  if (waiting_messages_.empty()) return;
  output() += waiting_messages_;
  waiting_messages_.clear();
}

void Client::clear_queue() {
  queue.clear();
  queued_bytes = 0;
  queued_flags = 0;
  queued_lacks = 0;
}

void Client::reset() {
  is_in_multi = false;
  is_multi_broken = false;
  clear_queue();
  is_watch_broken = false;
  reply_mode = ReplyMode::on;
  no_evict = false;
  no_touch = false;
  is_import_source = false;
  name.clear();
  database_ = 0;
  protocol_ = 2;
  set_authenticated(server_.config().requirepass.empty());
}

}  // namespace mayfly
