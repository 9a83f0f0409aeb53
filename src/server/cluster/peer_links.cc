// SPDX-License-Identifier: Apache-2.0
#include "server/cluster/peer_links.h"

#include <deque>
#include <utility>

#include "resp/encode.h"

namespace mayfly {

// One connection: connecting, then up. It lives in the map until it is closed; the end that the
// loop knows refers to it by node and number.
class PeerLinks::Peer {
 public:
  Peer(PeerLinks& owner, std::string node, PeerAddress address)
      : owner_(owner),
        node_(std::move(node)),
        address_(std::move(address)),
        number_(++owner.numbers_) {}

  ~Peer() {
    if (link_ != nullptr) link_->close_now("the connection is not needed any more");
    fail_all();
  }

  const PeerAddress& address() const { return address_; }
  bool is_stuck(Time now, Millis longest) const {
    return !waiting_.empty() && is_due(waiting_.front().since + longest, now);
  }

  void connect();

  void send(const std::vector<std::string>& words, OnReply replied, Time now) {
    waiting_.push_back({std::move(replied), now});
    std::string& output = link_ == nullptr ? unsent_ : link_->output();
    append_request(output, words);
  }

 private:
  // What the loop calls. The peer may be gone by then.
  class End final : public mayfly::Peer {
   public:
    End(PeerLinks& owner, std::string node, std::uint64_t number, Link& link)
        : owner_(owner), node_(std::move(node)), number_(number), link_(link) {}

    void received(InputBuffer& input) override {
      if (PeerLinks::Peer* const peer = find(owner_, node_, number_)) return peer->received(input);
      input.consume(input.size());
      link_.close_now("the connection is not needed any more");
    }
    void closed(std::string_view) override {
      PeerLinks::Peer* const peer = find(owner_, node_, number_);
      if (peer == nullptr) return;
      peer->link_ = nullptr;
      (void)owner_.peers_.extract(node_);
    }

   private:
    PeerLinks& owner_;
    const std::string node_;
    const std::uint64_t number_;
    Link& link_;
  };

  static constexpr std::size_t kReplyMost = std::size_t{64} * 1024;

  struct Waiting {
    OnReply replied;
    Time since;
  };

  static Peer* find(const PeerLinks& owner, const std::string& node, std::uint64_t number) {
    const auto found = owner.peers_.find(node);
    if (found == owner.peers_.end() || found->second->number_ != number) return nullptr;
    return found->second.get();
  }

  void received(InputBuffer& input) {
    while (!input.empty()) {
      const Parsed parsed = parser_.parse(input.view());
      input.consume(parser_.consumed());
      if (parsed != Parsed::request) break;
      if (waiting_.empty()) {
        input.consume(input.size());
        return link_->close_now("a reply to no request");
      }
      const Waiting first = std::move(waiting_.front());
      waiting_.pop_front();
      const ReplyValue reply = std::move(parser_.value());
      const PeerLinks& owner = owner_;
      const std::string node = node_;
      const std::uint64_t number = number_;
      if (first.replied) first.replied(&reply);
      if (find(owner, node, number) != this) return;  // the reply has made it unnecessary
    }
    if (parser_.error().empty() || link_ == nullptr) return;
    input.consume(input.size());
    link_->close_now("its reply is no reply");
  }

  void fail_all() {
    for (const Waiting& one : std::exchange(waiting_, {})) {
      if (one.replied) one.replied(nullptr);
    }
  }

  PeerLinks& owner_;
  const std::string node_;
  const PeerAddress address_;
  const std::uint64_t number_;
  Link* link_ = nullptr;  // null while it is connecting
  std::string unsent_;
  std::deque<Waiting> waiting_;
  ReplyParser parser_{kReplyMost};
};

void PeerLinks::Peer::connect() {
  const Config& config = owner_.context_.config;
  if (!config.primaryauth.empty()) {
    std::vector<std::string> words = {"AUTH", config.primaryauth};
    if (!config.primaryuser.empty()) words.insert(words.begin() + 1, config.primaryuser);
    send(words, {}, owner_.context_.host.lease_clock().now());
  }
  PeerLinks& owner = owner_;
  const std::string node = node_;
  const std::uint64_t number = number_;
  owner_.context_.host.connect(
      address_.host, address_.port,
      [&owner, node, number](Link& link) -> std::unique_ptr<mayfly::Peer> {
        Peer* const peer = find(owner, node, number);
        if (peer == nullptr) return nullptr;
        peer->link_ = &link;
        link.send(std::exchange(peer->unsent_, {}));
        return std::make_unique<End>(owner, node, number, link);
      },
      [&owner, node, number](const Error&) {
        if (find(owner, node, number) != nullptr) (void)owner.peers_.extract(node);
      });
}

PeerLinks::PeerLinks(const ServerContext& context) : context_(context) {}

PeerLinks::~PeerLinks() { close_all(); }

void PeerLinks::close_all() {
  // A request that fails may send another one.
  while (!peers_.empty()) (void)peers_.extract(peers_.begin());
}

void PeerLinks::send(const std::string& node, const PeerAddress& address,
                     const std::vector<std::string>& words, OnReply replied) {
  auto found = peers_.find(node);
  if (found != peers_.end() && found->second->address() != address) {
    (void)peers_.extract(found);
    found = peers_.end();
  }
  const Time now = context_.host.lease_clock().now();
  if (found == peers_.end()) {
    found = peers_.emplace(node, std::make_unique<Peer>(*this, node, address)).first;
    Peer& peer = *found->second;
    peer.connect();
    // A name that cannot be resolved fails at once.
    found = peers_.find(node);
    if (found == peers_.end()) {
      if (replied) replied(nullptr);
      return;
    }
  }
  found->second->send(words, std::move(replied), now);
}

std::vector<std::string> PeerLinks::nodes() const {
  std::vector<std::string> nodes;
  for (const auto& [node, peer] : peers_) nodes.push_back(node);
  return nodes;
}

void PeerLinks::close_stuck(Time now, Millis longest) {
  std::vector<std::string> stuck;
  for (const auto& [node, peer] : peers_) {
    if (peer->is_stuck(now, longest)) stuck.push_back(node);
  }
  for (const std::string& node : stuck) (void)peers_.extract(node);
}

void PeerLinks::forget(const std::function<bool(const std::string&)>& is_known) {
  std::vector<std::string> unknown;
  for (const auto& [node, peer] : peers_) {
    if (!is_known(node)) unknown.push_back(node);
  }
  for (const std::string& node : unknown) (void)peers_.extract(node);
}

}  // namespace mayfly
