// SPDX-License-Identifier: Apache-2.0
// Fuzzes what comes from etcd: each input is a reply of every kind, an error, and the lines of a
// watch. What is accepted must be what was asked for.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "etcd/gateway/gateway_error.h"
#include "etcd/gateway/replies.h"

namespace {

using mayfly::RegisterCommit;

constexpr std::string_view kPrefix = "/m/";

void require(bool holds) {
  if (!holds) std::abort();
}

void read_lines(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    static_cast<void>(mayfly::parse_watch_line(text.substr(0, end), kPrefix));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

void read_commit(std::string_view body) {
  const RegisterCommit commit{.compares = {{"a", 1}, {"b", 0}}, .puts = {{"a", "x"}}};
  const auto txn = mayfly::parse_txn_reply(body, kPrefix, commit);
  if (!txn) return require(!txn.error().message.empty());
  require(txn->version > 0);
  if (txn->is_done) return require(txn->current.empty());
  require(txn->current.size() == 2);
  require(txn->current[0].key == "a" && txn->current[1].key == "b");
}

void read_error(std::string_view body) {
  for (const long status : {200, 400, 401, 403, 408, 412, 429, 500, 503}) {
    mayfly::HttpReply reply;
    reply.outcome = mayfly::HttpReply::Outcome::answered;
    reply.status = status;
    reply.body = std::string(body);
    const mayfly::Judgement judgement = mayfly::judge(reply, "http://a:2379", "joe");
    require((status == 200) == (judgement.verdict == mayfly::Verdict::answered));
    require(status == 200 || !judgement.error.message.empty());
  }
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto snapshot = mayfly::parse_range_reply(text, kPrefix)) {
    require(snapshot->version > 0);
    for (const auto& entry : snapshot->entries) require(entry.value.has_value());
  }
  if (const auto lease = mayfly::parse_lease_reply(text)) require(lease->id != 0);
  if (const auto token = mayfly::parse_token_reply(text)) {
    require(!token->empty() && token->find('\n') == std::string::npos);
  }
  static_cast<void>(mayfly::parse_status_reply(text));
  static_cast<void>(mayfly::parse_members_reply(text));
  read_commit(text);
  read_lines(text);
  read_error(text);
  return 0;
}
