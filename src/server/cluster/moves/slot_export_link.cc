// SPDX-License-Identifier: Apache-2.0
// The connection of a SlotExport to the primary of the target: words go out, messages come in.

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "resp/encode.h"
#include "resp/numbers.h"
#include "server/cluster/cluster.h"
#include "server/cluster/moves/slot_export.h"
#include "server/cluster/moves/slot_moves.h"
#include "server/persistence/background.h"
#include "server/replication/propagation.h"
#include "text/byte_text.h"

namespace mayfly {
namespace {

constexpr std::size_t kMessageShown = 200;

}  // namespace

// What the loop calls. The export may be gone by then.
class SlotExport::End final : public Peer {
 public:
  explicit End(SlotExport& owner) : owner_(&owner) {}

  void leave() { owner_ = nullptr; }

  void received(InputBuffer& input) override {
    if (owner_ != nullptr) return owner_->received(input);
    input.consume(input.size());
  }
  void closed(std::string_view why) override {
    if (owner_ == nullptr) return;
    owner_->link_ = nullptr;
    owner_->end_ = nullptr;
    owner_->machine_.broken(fmt::format("the connection to the target was closed: {}", why));
  }

 private:
  SlotExport* owner_;
};

void SlotExport::connect() {
  last_ack_ = steady_now();
  const ClusterView& view = parts_.cluster.view();
  const ClusterShard* const target = view.shard(move_.target);
  const NodeRecord* const node =
      target == nullptr ? nullptr : view.node(target->record.primary.node);
  if (node == nullptr) return machine_.broken("the target has no primary");
  Cluster& cluster = parts_.cluster;
  parts_.host.connect(
      node->host, node->port,
      [&cluster, number = number_](Link& link) -> std::unique_ptr<Peer> {
        SlotExport* const self = cluster.moves().find_export(number);
        if (self == nullptr || self->is_over()) return nullptr;
        auto end = std::make_unique<End>(*self);
        self->connected(link, *end);
        return end;
      },
      [&cluster, number = number_](const Error& error) {
        SlotExport* const self = cluster.moves().find_export(number);
        if (self != nullptr)
          self->machine_.broken(fmt::format("cannot connect: {}", error.message));
      });
}

void SlotExport::connected(Link& link, End& end) {
  link_ = &link;
  end_ = &end;
  const Config& config = parts_.config;
  if (!config.primaryauth.empty()) {
    std::vector<std::string> words = {"AUTH", config.primaryauth};
    if (!config.primaryuser.empty()) words.insert(words.begin() + 1, config.primaryuser);
    append_request(link.output(), words);
    awaits_auth_ = true;
  }
  const ShardMachine* const machine = parts_.cluster.node().machine();
  const ClusterShard* const target = parts_.cluster.view().shard(move_.target);
  if (machine == nullptr || target == nullptr) return machine_.broken("the shards have changed");
  send({"CLUSTER", "IMPORT", "BEGIN", job_, move_.source, std::to_string(machine->epoch()),
        std::to_string(target->record.epoch),
        std::to_string(parts_.clock.now().time_since_epoch().count()),
        machine->record().insync.empty() ? "0" : "1", move_.slots.text()});
}

// Closes it, and forgets what waits to be sent.
void SlotExport::disconnect() {
  is_snapshot_due_ = false;
  if (filter_) parts_.propagation.remove_sink(*filter_);
  if (parts_.background.is_doing(Job::move)) parts_.background.stop();
  if (end_ != nullptr) end_->leave();
  if (link_ != nullptr && !link_->closing()) link_->close_now("the move is over");
  link_ = nullptr;
  end_ = nullptr;
}

void SlotExport::send(const std::vector<std::string>& words) {
  if (link_ == nullptr) return;
  std::string bytes;
  append_request(bytes, words);
  sent_ += bytes.size();
  last_sent_ = steady_now();
  link_->send(bytes);
}

void SlotExport::received(InputBuffer& input) {
  while (!input.empty() && link_ != nullptr && !link_->closing()) {
    const Parsed parsed = parser_.parse(input.view());
    input.consume(parser_.consumed());
    if (parsed == Parsed::error) {
      input.consume(input.size());
      return machine_.broken("the target sent no reply: " + escape_controls(parser_.error()));
    }
    if (parsed != Parsed::request) return;
    const ReplyValue reply = std::move(parser_.value());
    take_reply(reply);
  }
}

void SlotExport::take_reply(const ReplyValue& reply) {
  last_ack_ = steady_now();
  if (reply.kind == ReplyValue::Kind::error) {
    is_busy_ = reply.text.starts_with("BUSY");
    return machine_.broken("the target: " + escape_controls(reply.text.substr(0, kMessageShown)));
  }
  if (std::exchange(awaits_auth_, false)) return;
  if (reply.kind == ReplyValue::Kind::simple) return take_message(reply.text);
  take_ready(reply);
}

// READY job version record
void SlotExport::take_ready(const ReplyValue& reply) {
  if (reply.items.size() != 4 || reply.items[0].text != "READY" || reply.items[1].text != job_) {
    return machine_.broken("the target sent a message that is not known: " +
                           escape_controls(reply.to_text().substr(0, kMessageShown)));
  }
  const auto version = parse_integer(reply.items[2].text);
  const Result<ShardRecord> record = parse_shard_record(reply.items[3].text);
  if (!version || *version < 0 || !record) return machine_.broken("the target sent a wrong record");
  const auto number = static_cast<std::uint64_t>(*version);
  if (number > target_.version) target_ = {*record, number};
  machine_.ready(number);
}

// "BEGUN", or "ACK applied safe".
void SlotExport::take_message(std::string_view text) {
  if (text == "BEGUN") return machine_.begun();
  const std::size_t space = text.find(' ', 4);
  if (!text.starts_with("ACK ") || space == std::string_view::npos) {
    return machine_.broken(fmt::format("the target sent a message that is not known: {}",
                                       escape_controls(text.substr(0, kMessageShown))));
  }
  const auto applied = parse_integer(text.substr(4, space - 4));
  const auto safe = parse_integer(text.substr(space + 1));
  if (!applied || !safe || *safe < 0)
    return machine_.broken("the target sent a wrong acknowledgement");
  safe_ = std::max(safe_, static_cast<std::uint64_t>(*safe));
}

}  // namespace mayfly
