// SPDX-License-Identifier: Apache-2.0
// Messages between nodes of a cluster, as requests and replies: CLUSTER PULSE and CLUSTER CANVASS.

#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/shard_messages.h"
#include "resp/reply.h"
#include "resp/reply_parser.h"
#include "resp/request.h"

namespace mayfly {

// A message and the shard that it is about.
template <class Message>
struct ForShard {
  std::string shard;
  Message message;
};

std::vector<std::string> to_request(const std::string& shard, const Pulse& pulse);
std::vector<std::string> to_request(const std::string& shard, const Canvass& canvass);

// Of a whole request, CLUSTER included. Nothing if a word is wrong.
std::optional<ForShard<Pulse>> read_pulse(Words words);
std::optional<ForShard<Canvass>> read_canvass(Words words);

void write_reply(Reply& reply, const PulseReply& answer);
void write_reply(Reply& reply, const CanvassReply& answer);
std::optional<PulseReply> read_pulse_reply(const ReplyValue& reply);
std::optional<CanvassReply> read_canvass_reply(const ReplyValue& reply);

}  // namespace mayfly
