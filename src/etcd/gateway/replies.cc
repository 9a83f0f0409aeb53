// SPDX-License-Identifier: Apache-2.0
#include "etcd/gateway/replies.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "etcd/gateway/gateway_error.h"
#include "text/byte_text.h"
#include "text/json_reader.h"

namespace mayfly {
namespace {

using Kind = JsonValue::Kind;

// Reads members of a reply. What is absent is zero; the first mistake is kept.
class ReplyReader {
 public:
  explicit ReplyReader(std::string_view prefix = {}) : prefix_(prefix) {}

  // An empty object for what cannot be read.
  JsonValue document(std::string_view text) {
    Result<JsonValue> value = read_json(text);
    if (!value) {
      fail(value.error().message);
    } else if (!value->is(Kind::object)) {
      fail("it is no object");
    } else {
      return *std::move(value);
    }
    JsonValue empty;
    empty.kind = Kind::object;
    return empty;
  }

  template <class Number = std::uint64_t>
  Number number(const JsonValue& object, std::string_view name) {
    const JsonValue* const member = find(object, name);
    if (member == nullptr) return 0;
    Number number = 0;
    const char* const end = member->text.data() + member->text.size();
    const auto [stop, error] = std::from_chars(member->text.data(), end, number);
    const bool is_text = member->is(Kind::string) || member->is(Kind::number);
    if (!is_text || error != std::errc() || stop != end) fail(name, "is no whole number");
    return number;
  }

  bool truth(const JsonValue& object, std::string_view name) {
    const JsonValue* const member = find(object, name);
    if (member != nullptr && !member->is(Kind::boolean)) fail(name, "is neither true nor false");
    return member != nullptr && member->truth;
  }

  std::string text(const JsonValue& object, std::string_view name) {
    const JsonValue* const member = find(object, name);
    if (member == nullptr) return {};
    if (!member->is(Kind::string)) fail(name, "is no string");
    return member->text;
  }

  std::string bytes(const JsonValue& object, std::string_view name) {
    Result<std::string> decoded = from_base64(text(object, name));
    if (!decoded) {
      fail(name, "is no base64");
      return {};
    }
    return *std::move(decoded);
  }

  const std::vector<JsonValue>& list(const JsonValue& object, std::string_view name) {
    static const std::vector<JsonValue> kNone;
    const JsonValue* const member = find(object, name);
    if (member == nullptr) return kNone;
    if (!member->is(Kind::array)) fail(name, "is no array");
    return member->values;
  }

  // The header has the version of the whole register.
  std::uint64_t version(const JsonValue& reply) {
    const JsonValue* const header = find(reply, "header");
    return header == nullptr ? 0 : number(*header, "revision");
  }

  std::uint64_t register_id(const JsonValue& reply) {
    const JsonValue* const header = find(reply, "header");
    return header == nullptr ? 0 : number(*header, "cluster_id");
  }

  std::string key(const JsonValue& pair) {
    std::string name = bytes(pair, "key");
    if (!name.starts_with(prefix_)) fail("key", "does not begin with the prefix");
    return name.substr(std::min(prefix_.size(), name.size()));
  }

  RegisterEntry entry(const JsonValue& pair) {
    return {key(pair), bytes(pair, "value"), number(pair, "mod_revision")};
  }

  // Null for what is absent, and for null.
  const JsonValue* find(const JsonValue& object, std::string_view name) {
    const JsonValue* const member = object.find(name);
    return member == nullptr || member->is(Kind::null) ? nullptr : member;
  }

  void fail(std::string_view name, std::string_view what) {
    fail(fmt::format("{} {}", name, what));
  }
  void fail(std::string what) {
    if (!error_) error_ = std::move(what);
  }

  template <class T>
  Result<T> result(T value) const {
    if (!error_) return value;
    return Error{Code::corrupt, fmt::format("the reply of etcd is wrong: {} (is it etcd 3.4 or "
                                            "later that answers?)",
                                            *error_)};
  }

 private:
  const std::string_view prefix_;
  std::optional<std::string> error_;
};

}  // namespace

RegisterPoint parse_reply_header(std::string_view body) {
  ReplyReader reader;
  const JsonValue document = reader.document(body);
  const JsonValue* const result = reader.find(document, "result");  // of a stream
  const JsonValue& reply = result != nullptr && result->is(Kind::object) ? *result : document;
  const RegisterPoint point{reader.register_id(reply), reader.version(reply)};
  const Result<RegisterPoint> read = reader.result(point);
  return read ? *read : RegisterPoint{};
}

Result<RegisterSnapshot> parse_range_reply(std::string_view body, std::string_view prefix) {
  ReplyReader reader(prefix);
  const JsonValue reply = reader.document(body);
  RegisterSnapshot snapshot;
  snapshot.version = reader.version(reply);
  snapshot.id = reader.register_id(reply);
  if (snapshot.version == 0) reader.fail("header has no revision");
  for (const JsonValue& pair : reader.list(reply, "kvs")) {
    snapshot.entries.push_back(reader.entry(pair));
  }
  if (reader.truth(reply, "more")) reader.fail("it is not complete");
  return reader.result(std::move(snapshot));
}

Result<TxnReply> parse_txn_reply(std::string_view body, std::string_view prefix,
                                 const RegisterCommit& commit) {
  ReplyReader reader(prefix);
  const JsonValue reply = reader.document(body);
  TxnReply txn;
  txn.is_done = reader.truth(reply, "succeeded");
  txn.version = reader.version(reply);
  if (txn.version == 0) reader.fail("header has no revision");
  if (txn.is_done) return reader.result(std::move(txn));

  const auto& responses = reader.list(reply, "responses");
  if (responses.size() != commit.compares.size()) reader.fail("responses have another number");
  for (std::size_t i = 0; i < responses.size() && i < commit.compares.size(); ++i) {
    RegisterEntry& entry = txn.current.emplace_back();
    entry.key = commit.compares[i].key;
    const JsonValue* const range = reader.find(responses[i], "response_range");
    if (range == nullptr) {
      reader.fail("responses have one that is no range");
      continue;
    }
    for (const JsonValue& pair : reader.list(*range, "kvs")) {
      RegisterEntry found = reader.entry(pair);
      if (found.key != entry.key) reader.fail("responses have another key");
      entry = std::move(found);
    }
  }
  return reader.result(std::move(txn));
}

Result<LeaseReply> parse_lease_reply(std::string_view body) {
  ReplyReader reader;
  const JsonValue reply = reader.document(body);
  const JsonValue* const result = reader.find(reply, "result");  // of a stream, as keepalives are
  const JsonValue& lease = result == nullptr ? reply : *result;
  LeaseReply parsed;
  parsed.id = reader.number<std::int64_t>(lease, "ID");
  if (parsed.id == 0) reader.fail("it has no ID");
  parsed.ttl = std::chrono::seconds(reader.number<std::int64_t>(lease, "TTL"));
  return reader.result(parsed);
}

Result<std::string> parse_token_reply(std::string_view body) {
  ReplyReader reader;
  const JsonValue reply = reader.document(body);
  std::string token = reader.text(reply, "token");
  const auto is_control = [](char letter) { return static_cast<unsigned char>(letter) < ' '; };
  if (token.empty() || std::any_of(token.begin(), token.end(), is_control)) {
    reader.fail("it has no token");
  }
  return reader.result(std::move(token));
}

Result<WatchLine> parse_watch_line(std::string_view text, std::string_view prefix) {
  ReplyReader reader(prefix);
  const JsonValue reply = reader.document(text);
  WatchLine line;
  const JsonValue* const result = reader.find(reply, "result");
  if (result == nullptr) {
    line.error = parse_gateway_error(text).message;
    if (line.error.empty()) reader.fail("it has neither a result nor an error");
    return reader.result(std::move(line));
  }
  line.is_created = reader.truth(*result, "created");
  line.is_canceled = reader.truth(*result, "canceled");
  line.compacted = reader.number(*result, "compact_revision");
  line.version = reader.version(*result);
  line.id = reader.register_id(*result);
  line.error = reader.text(*result, "cancel_reason");
  for (const JsonValue& event : reader.list(*result, "events")) {
    const JsonValue* const pair = reader.find(event, "kv");
    if (pair == nullptr) {
      reader.fail("an event has no key");
      continue;
    }
    RegisterEntry& entry = line.entries.emplace_back(reader.entry(*pair));
    if (reader.text(event, "type") == "DELETE") entry.value.reset();
  }
  return reader.result(std::move(line));
}

Result<StatusReply> parse_status_reply(std::string_view body) {
  ReplyReader reader;
  const JsonValue reply = reader.document(body);
  StatusReply status;
  status.version = reader.text(reply, "version");
  if (const JsonValue* const header = reader.find(reply, "header")) {
    status.member = reader.number(*header, "member_id");
  }
  status.leader = reader.number(reply, "leader");
  status.database_bytes = reader.number(reply, "dbSize");
  status.database_bytes_in_use = reader.number(reply, "dbSizeInUse");
  for (const JsonValue& error : reader.list(reply, "errors")) {
    std::string& text = status.errors.emplace_back(error.text);
    while (text.ends_with(' ')) text.pop_back();
  }
  return reader.result(std::move(status));
}

Result<std::vector<EtcdMember>> parse_members_reply(std::string_view body) {
  ReplyReader reader;
  const JsonValue reply = reader.document(body);
  std::vector<EtcdMember> members;
  for (const JsonValue& member : reader.list(reply, "members")) {
    EtcdMember& one = members.emplace_back(
        EtcdMember{reader.number(member, "ID"), reader.text(member, "name"), {}});
    for (const JsonValue& url : reader.list(member, "clientURLs")) one.urls.push_back(url.text);
  }
  return reader.result(std::move(members));
}

}  // namespace mayfly
