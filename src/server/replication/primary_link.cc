// SPDX-License-Identifier: Apache-2.0
// Connecting to the primary, acknowledging its stream, and reconnecting.

#include "server/replication/primary_link.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "resp/encode.h"
#include "server/core/clients.h"
#include "server/persistence/aof_writer.h"
#include "server/persistence/loading.h"
#include "server/replication/foreign_replica.h"
#include "server/replication/replication.h"

namespace mayfly {
namespace {

constexpr Millis kRetryInterval{1000};
constexpr Millis kClusterRetryInterval{100};  // a primary that has just taken over may not be ready
constexpr Millis kAckInterval{1000};

// The link with this number, if it is still the current one.
PrimaryLink* find_link(Replication& replication, std::uint64_t number) {
  PrimaryLink* const primary = replication.primary();
  return primary != nullptr && primary->number() == number ? primary : nullptr;
}

// The connection's peer. The link may be gone by the time something arrives.
class PrimaryPeer final : public Peer {
 public:
  PrimaryPeer(Replication& replication, std::uint64_t number, Link& link)
      : replication_(replication), number_(number), link_(link) {}

  void received(InputBuffer& input) override {
    if (PrimaryLink* const primary = find_link(replication_, number_)) {
      return primary->received(input);
    }
    input.consume(input.size());
    link_.close_now("this server does not follow it any more");
  }
  void closed(std::string_view why) override {
    if (PrimaryLink* const primary = find_link(replication_, number_)) primary->closed(why);
  }

 private:
  Replication& replication_;
  const std::uint64_t number_;
  Link& link_;
};

}  // namespace

std::string redirect_text(const PrimaryLink& primary) {
  return fmt::format("REDIRECT {}:{}", primary.host(), primary.port());
}

PrimaryLink::PrimaryLink(const PrimaryContext& context, std::string host, int port,
                         std::uint64_t number, bool takes_over)
    : context_(context),
      host_(std::move(host)),
      port_(port),
      number_(number),
      takes_over_(takes_over),
      down_since_(context.clock.now()) {}

PrimaryLink::~PrimaryLink() {
  if (client_) client_->forget();
  if (state_ == LinkState::loading) context_.loading.abandon();
  if (file_ || state_ == LinkState::loading) (void)context_.host.disk().remove(file_path());
  if (link_ != nullptr) link_->close_now("this server does not follow it any more");
}

void PrimaryLink::connect(Time now) {
  state_ = LinkState::connecting;
  last_received_ = now;
  const bool is_in_cluster = context_.replication.cluster() != nullptr;
  next_attempt_ = now + (is_in_cluster ? kClusterRetryInterval : kRetryInterval);
  context_.log.notice("Connecting to the primary {}:{}", host_, port_);
  Replication& replication = context_.replication;
  const std::uint64_t number = number_;
  context_.host.connect(
      host_, port_,
      [&replication, number](Link& link) -> std::unique_ptr<Peer> {
        PrimaryLink* const primary = find_link(replication, number);
        if (primary == nullptr || primary->state() != LinkState::connecting) return nullptr;
        primary->connected(link);
        return std::make_unique<PrimaryPeer>(replication, number, link);
      },
      [&replication, number](const Error& error) {
        if (PrimaryLink* const primary = find_link(replication, number)) {
          primary->failed(error.message);
        }
      });
}

void PrimaryLink::connected(Link& link) {
  link_ = &link;
  state_ = LinkState::handshake;
  step_ = 0;
  send_next_step();
}

void PrimaryLink::failed(std::string_view why) {
  if (state_ != LinkState::connecting) return;
  context_.log.warning("Cannot connect to the primary {}:{}: {}", host_, port_, why);
  state_ = LinkState::waiting;
  if (takes_over_) context_.replication.failover().refused(why);
}

void PrimaryLink::closed(std::string_view why) {
  link_ = nullptr;
  if (state_ == LinkState::loading) return;  // noticed when all is loaded
  if (state_ == LinkState::streaming) down_since_ = context_.clock.now();
  context_.log.warning("Lost the connection to the primary {}:{}: {}", host_, port_, why);
  if (client_) {
    client_->forget();
    client_ = nullptr;
  }
  held_.clear();
  held_mayfly_only_.clear();
  file_ = nullptr;
  if (state_ == LinkState::transfer) (void)context_.host.disk().remove(file_path());
  state_ = LinkState::waiting;
}

void PrimaryLink::disconnect(std::string_view why) {
  if (link_ != nullptr) link_->close_now(why);  // closed() follows
}

void PrimaryLink::received(InputBuffer& input) {
  last_received_ = context_.clock.now();
  std::string line;
  while (!input.empty() && link_ != nullptr && !link_->closing()) {
    if (state_ == LinkState::streaming) return client_->received(input);
    if (state_ == LinkState::loading) return;  // reading is paused
    if (state_ == LinkState::transfer && has_header_) {
      transfer(input);
      continue;
    }
    if (!read_line(input, line)) return;
    if (line.empty()) continue;  // a sign of life
    state_ == LinkState::transfer ? transfer_header(line) : step_answered(line);
  }
}

void PrimaryLink::begin_stream() {
  client_ = context_.clients.adopt(*link_);
  client_->is_primary = true;
  client_->set_authenticated(true);
  client_->options.reply_mode = ReplyMode::off;
  client_->select(std::max(context_.stream.selected(), 0));
  state_ = LinkState::streaming;
  last_received_ = context_.clock.now();
  owes_ack_ = true;
  if (link_->paused()) link_->resume_reading();
}

std::size_t PrimaryLink::unapplied_bytes() const {
  return client_ ? held_.size() + client_->unprocessed_bytes() : 0;
}

void PrimaryLink::applied(std::string_view bytes) {
  if (std::string what = mayfly_only(bytes); !what.empty()) held_mayfly_only_ = std::move(what);
  if (client_ && client_->transaction.is_open) {
    held_ += bytes;
    return;
  }
  if (context_.replication.cluster() != nullptr) owes_ack_ = true;  // each turn
  if (client_) context_.stream.set_selected(client_->database());
  if (!held_.empty()) context_.stream.log().append(std::exchange(held_, {}));
  context_.stream.log().append(bytes);
  if (!held_mayfly_only_.empty()) {
    context_.stream.note_mayfly_only(std::exchange(held_mayfly_only_, {}));
  }
}

// The offsets that this server has applied, and has on disk.
void PrimaryLink::send_ack() {
  owes_ack_ = false;
  const std::string offset = std::to_string(context_.stream.log().end());
  std::vector<std::string> words = {"REPLCONF", "ACK", offset};
  if (context_.config.appendonly) {
    // All that is applied has been appended; if that is synced, so is the stream up to here.
    if (context_.aof.synced_offset() >= context_.aof.appended_offset()) {
      safe_offset_ = context_.stream.log().end();
    }
    words.insert(words.end(), {"FACK", std::to_string(safe_offset_)});
  }
  append_request(link_->output(), words);
}

void PrimaryLink::before_sleep(Time now) {
  if (state_ == LinkState::waiting) {
    if (is_due(next_attempt_, now) && !context_.loading.is_active()) connect(now);
    return;
  }
  if (state_ == LinkState::loading) {
    if (link_ != nullptr && is_due(next_ack_, now)) {
      link_->send("\n");  // a sign of life
      next_ack_ = now + kAckInterval;
    }
    return;
  }
  if (client_ && client_->limits.is_paused) last_received_ = now;  // its input is left unread
  const auto longest = std::chrono::seconds(context_.config.repl_timeout);
  if (is_due(last_received_ + longest, now)) {
    if (link_ == nullptr) return failed("no answer");
    return disconnect("nothing received for longer than repl-timeout");
  }
  if (state_ == LinkState::streaming && (owes_ack_ || is_due(next_ack_, now))) {
    send_ack();
    next_ack_ = now + kAckInterval;
  }
}

}  // namespace mayfly
