// SPDX-License-Identifier: Apache-2.0
#include "cli/cluster/session/resp_nodes.h"

#include <fmt/format.h>

#include "tools/server_address.h"

namespace mayfly {
namespace {

constexpr std::size_t kTableMost = std::size_t{64} << 20;  // of CLUSTER NODES or SLOTS

// Bytes, not text: FUNCTION DUMP.
bool has_binary_reply(const ClusterNodes::Request& request) {
  return request.front() == "FUNCTION";
}

std::size_t reply_most(const ClusterNodes::Request& request) {
  if (has_binary_reply(request)) return RespClient::kReplyMost;
  const bool is_table = request.size() == 2 && request[0] == "CLUSTER" && request[1] != "INFO";
  return is_table ? kTableMost : RespClient::kSmallReplyMost;
}

// How a password is given to these commands.
Error no_entry(const NodeAddress& node, const Error& why) {
  const auto says = [&](const char* word) { return why.message.find(word) != std::string::npos; };
  if (says("NOAUTH")) {
    return {Code::denied, node.text() + " wants a password: use --password or MAYFLY_PASSWORD"};
  }
  if (says("WRONGPASS")) {
    return {Code::denied,
            node.text() + " has another password than --password or MAYFLY_PASSWORD says"};
  }
  if (says("NOPERM")) return {Code::denied, why.message};
  if (says("max number of clients")) return {Code::full, why.message};
  if (says("DENIED")) return {Code::unsupported, why.message};
  // Another error of the server: the password is right.
  return {why.code == Code::denied ? Code::io : why.code, why.message};
}

}  // namespace

RespNodes::Link& RespNodes::link_to(const NodeAddress& node) {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<Link>& link = links_[node];
  if (link == nullptr) link = std::make_unique<Link>();
  return *link;
}

Result<std::vector<ReplyValue>> RespNodes::call(const NodeAddress& node,
                                                const std::vector<Request>& requests,
                                                Millis patience) {
  Link& link = link_to(node);
  const std::lock_guard lock(link.mutex);
  // A connection that was kept may be to a process that has ended since: a second one is tried.
  for (const bool is_kept : {link.client.has_value(), false}) {
    if (!is_kept) {
      ServerAddress address;
      address.host = node.host;
      address.port = node.port;
      address.password = password_;
      Result<RespClient> client = RespClient::connect(address, patience);
      if (!client) {
        link.client.reset();
        return no_entry(node, client.error());
      }
      link.client.emplace(std::move(*client));
    }
    auto replies = ask_node(*link.client, requests, patience);
    if (replies) return replies;
    link.client.reset();
    if (!is_kept)
      return Error{replies.error().code,
                   fmt::format("{}: {}", node.text(), replies.error().message)};
  }
  return Error{Code::busy, fmt::format("{} does not respond", node.text())};
}

Result<std::vector<ReplyValue>> ask_node(RespClient& client,
                                         const std::vector<ClusterNodes::Request>& requests,
                                         Millis patience) {
  for (const ClusterNodes::Request& request : requests) {
    const std::vector<std::string_view> words(request.begin(), request.end());
    client.add(Words(words));
  }
  if (const Status status = client.send(); !status) return status.error();
  std::vector<ReplyValue> replies;
  while (replies.size() < requests.size()) {
    const ClusterNodes::Request& request = requests[replies.size()];
    client.set_reply_most(reply_most(request));
    Result<std::optional<ReplyValue>> reply = client.read_within(patience);
    if (!reply) return reply.error();
    if (!*reply) return Error{Code::busy, "does not respond"};
    if (!has_binary_reply(request)) escape_texts(**reply);
    replies.push_back(std::move(**reply));
  }
  return replies;
}

}  // namespace mayfly
