// SPDX-License-Identifier: Apache-2.0
// Connecting to the primary, staying in touch, and beginning anew.

#include "server/replication/primary_link.h"

#include <fmt/format.h>

#include <utility>

#include "resp/encode.h"
#include "server/core/server.h"
#include "server/replication/replication.h"

namespace mayfly {
namespace {

constexpr Millis kRetryInterval{1000};
constexpr Millis kAckInterval{1000};

// The connection's peer. The link may be gone, or be another one, by the time something comes.
class PrimaryPeer final : public Peer {
 public:
  PrimaryPeer(Server& server, std::uint64_t number, Link& link)
      : server_(server), number_(number), link_(link) {}

  void received(InputBuffer& input) override {
    if (PrimaryLink* const primary = current()) return primary->received(input);
    input.consume(input.size());
    link_.close_now("it is not our primary any more");
  }
  void closed(std::string_view why) override {
    if (PrimaryLink* const primary = current()) primary->closed(why);
  }

 private:
  PrimaryLink* current() const {
    PrimaryLink* const primary = server_.replication().primary();
    return primary != nullptr && primary->number() == number_ ? primary : nullptr;
  }

  Server& server_;
  const std::uint64_t number_;
  Link& link_;
};

}  // namespace

PrimaryLink::PrimaryLink(Server& server, std::string host, int port, std::uint64_t number,
                         bool takes_over)
    : server_(server),
      host_(std::move(host)),
      port_(port),
      number_(number),
      takes_over_(takes_over),
      down_since_(server.wall().now()) {}

PrimaryLink::~PrimaryLink() {
  if (client_) server_.forget(*client_);
  if (state_ == LinkState::loading) server_.loading().abandon();
  if (file_ || state_ == LinkState::loading)
    (void)server_.surroundings().disk().remove(file_path());
  if (link_ != nullptr) link_->close_now("we do not follow it any more");
}

int PrimaryLink::database() const { return client_ ? client_->database() : database_; }

void PrimaryLink::connect(Time now) {
  state_ = LinkState::connecting;
  heard_ = now;
  next_attempt_ = now + kRetryInterval;
  server_.log().write(Level::notice, fmt::format("Connecting to the primary {}:{}", host_, port_));
  const std::uint64_t number = number_;
  Server& server = server_;
  const auto current = [&server, number]() -> PrimaryLink* {
    PrimaryLink* const primary = server.replication().primary();
    return primary != nullptr && primary->number() == number ? primary : nullptr;
  };
  server_.surroundings().connect(
      host_, port_,
      [&server, number, current](Link& link) -> std::unique_ptr<Peer> {
        PrimaryLink* const primary = current();
        if (primary == nullptr || primary->state() != LinkState::connecting) return nullptr;
        primary->connected(link);
        return std::make_unique<PrimaryPeer>(server, number, link);
      },
      [current](const Error& error) {
        if (PrimaryLink* const primary = current()) primary->failed(error.message);
      });
}

void PrimaryLink::connected(Link& link) {
  link_ = &link;
  state_ = LinkState::greeting;
  step_ = 0;
  say_next();
}

void PrimaryLink::failed(std::string_view why) {
  if (state_ != LinkState::connecting) return;
  server_.log().write(Level::warning,
                      fmt::format("Cannot connect to the primary {}:{}: {}", host_, port_, why));
  state_ = LinkState::waiting;
  if (takes_over_) server_.replication().failover().refused(why);
}

void PrimaryLink::closed(std::string_view why) {
  link_ = nullptr;
  if (state_ == LinkState::loading) return;  // it will be noticed when all is loaded
  if (state_ == LinkState::streaming) down_since_ = server_.wall().now();
  server_.log().write(Level::warning, fmt::format("The connection to the primary {}:{} is gone: {}",
                                                  host_, port_, why));
  if (client_) {
    database_ = client_->database();
    server_.forget(*client_);
    client_ = nullptr;
  }
  held_.clear();
  if (file_) {
    file_ = nullptr;
    (void)server_.surroundings().disk().remove(file_path());
  }
  state_ = LinkState::waiting;
}

void PrimaryLink::disconnect(std::string_view why) {
  if (link_ != nullptr) link_->close_now(why);  // closed() follows
}

void PrimaryLink::received(InputBuffer& input) {
  heard_ = server_.wall().now();
  std::string line;
  while (!input.empty() && link_ != nullptr && !link_->closing()) {
    if (state_ == LinkState::streaming) return client_->received(input);
    if (state_ == LinkState::loading) return;  // it is paused; what is there can wait
    if (state_ == LinkState::transfer && has_header_) {
      transfer(input);
      continue;
    }
    if (!read_line(input, line)) return;
    if (line.empty()) continue;  // to tell that it is there
    state_ == LinkState::transfer ? transfer_header(line) : greeted(line);
  }
}

void PrimaryLink::begin_stream() {
  client_ = server_.adopt(*link_);
  client_->is_primary = true;
  client_->set_authenticated(true);
  client_->reply_mode = ReplyMode::off;
  client_->select(database_);
  state_ = LinkState::streaming;
  heard_ = server_.wall().now();
  owes_ack_ = true;
  if (link_->paused()) link_->resume_reading();
}

void PrimaryLink::applied(std::string_view bytes) {
  if (client_ && client_->is_in_multi) {
    held_ += bytes;
    return;
  }
  Replication& replication = server_.replication();
  if (!held_.empty()) replication.applied(std::exchange(held_, {}));
  replication.applied(bytes);
}

// Where we are: in the stream, and on our own disk.
void PrimaryLink::send_ack() {
  owes_ack_ = false;
  const std::string offset = std::to_string(server_.replication().log().end());
  std::vector<std::string> words = {"REPLCONF", "ACK", offset};
  if (server_.config().appendonly) {
    // All that is applied has been appended; if that is synced, so is the stream up to here.
    const Persistence& disk = server_.persistence();
    if (disk.synced_offset() >= disk.appended_offset()) {
      safe_offset_ = server_.replication().log().end();
    }
    words.insert(words.end(), {"FACK", std::to_string(safe_offset_)});
  }
  append_request(link_->output(), words);
}

void PrimaryLink::before_sleep(Time now) {
  if (state_ == LinkState::waiting) {
    if (is_due(next_attempt_, now) && !server_.loading().is_active()) connect(now);
    return;
  }
  if (state_ == LinkState::loading) {
    if (link_ != nullptr && is_due(next_ack_, now)) {
      link_->send("\n");  // so that it does not take us for dead
      next_ack_ = now + kAckInterval;
    }
    return;
  }
  if (client_ && client_->is_paused) heard_ = now;  // what it sends is left unread
  const auto longest = std::chrono::seconds(server_.config().repl_timeout);
  if (is_due(heard_ + longest, now)) {
    if (link_ == nullptr) return failed("it does not answer");
    return disconnect("it was silent for longer than repl-timeout");
  }
  if (state_ == LinkState::streaming && (owes_ack_ || is_due(next_ack_, now))) {
    send_ack();
    next_ack_ = now + kAckInterval;
  }
}

}  // namespace mayfly
