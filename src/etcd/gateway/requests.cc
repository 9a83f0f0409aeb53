// SPDX-License-Identifier: Apache-2.0
#include "etcd/gateway/requests.h"

#include "text/byte_text.h"
#include "text/json.h"

namespace mayfly {
namespace {

void add_bytes(Json& json, std::string_view name, std::string_view bytes) {
  json.member(name, std::string_view(base64(bytes)));
}

void add_number(Json& json, std::string_view name, std::uint64_t number) {
  json.member(name, std::string_view(std::to_string(number)));
}

void add_number(Json& json, std::string_view name, std::int64_t number) {
  json.member(name, std::string_view(std::to_string(number)));
}

std::string full_key(std::string_view prefix, std::string_view key) {
  return std::string(prefix).append(key);
}

void add_compare(Json& json, std::string_view prefix, const RegisterCommit::Compare& compare) {
  json.open('{');
  add_bytes(json, "key", full_key(prefix, compare.key));
  json.member("result", "EQUAL");
  if (compare.version == 0) {
    json.member("target", "VERSION");  // etcd's own: how often the key was put since it was made
    add_number(json, "version", std::uint64_t{0});
  } else {
    json.member("target", "MOD");
    add_number(json, "mod_revision", compare.version);
  }
  json.close('}');
}

void add_change(Json& json, std::string_view prefix, const RegisterCommit::Put& put,
                std::int64_t lease) {
  json.open('{');
  json.key(put.value ? "request_put" : "request_delete_range");
  json.open('{');
  add_bytes(json, "key", full_key(prefix, put.key));
  if (put.value) {
    add_bytes(json, "value", *put.value);
    if (lease != 0) add_number(json, "lease", lease);
  }
  json.close('}');
  json.close('}');
}

}  // namespace

std::string prefix_end(std::string_view prefix) {
  std::string end(prefix);
  while (!end.empty() && end.back() == '\xff') end.pop_back();
  if (end.empty()) return std::string(1, '\0');  // etcd: to the end of all keys
  end.back() = static_cast<char>(static_cast<unsigned char>(end.back()) + 1);
  return end;
}

std::string range_request(std::string_view prefix) {
  Json json;
  json.open('{');
  add_bytes(json, "key", prefix);
  add_bytes(json, "range_end", prefix_end(prefix));
  json.close('}');
  return json.text();
}

std::string lone_range_request(std::string_view prefix) {
  Json json;
  json.open('{');
  add_bytes(json, "key", prefix);
  add_bytes(json, "range_end", prefix_end(prefix));
  json.member("serializable", true);
  json.close('}');
  return json.text();
}

std::string range_request(std::string_view prefix, std::string_view key) {
  Json json;
  json.open('{');
  add_bytes(json, "key", full_key(prefix, key));
  json.close('}');
  return json.text();
}

std::string txn_request(std::string_view prefix, const RegisterCommit& commit, std::int64_t lease) {
  Json json;
  json.open('{');
  json.key("compare");
  json.open('[');
  for (const auto& compare : commit.compares) add_compare(json, prefix, compare);
  json.close(']');
  json.key("success");
  json.open('[');
  for (const auto& put : commit.puts) add_change(json, prefix, put, lease);
  json.close(']');
  json.key("failure");
  json.open('[');
  for (const auto& compare : commit.compares) {
    json.open('{');
    json.key("request_range");
    json.open('{');
    add_bytes(json, "key", full_key(prefix, compare.key));
    json.close('}');
    json.close('}');
  }
  json.close(']');
  json.close('}');
  return json.text();
}

std::string watch_request(std::string_view prefix, std::uint64_t start_version) {
  Json json;
  json.open('{');
  json.key("create_request");
  json.open('{');
  add_bytes(json, "key", prefix);
  add_bytes(json, "range_end", prefix_end(prefix));
  add_number(json, "start_revision", start_version);
  json.member("progress_notify", true);
  json.close('}');
  json.close('}');
  return json.text();
}

std::string grant_request(Millis ttl) {
  Json json;
  json.open('{');
  add_number(json, "TTL", std::int64_t{std::chrono::ceil<std::chrono::seconds>(ttl).count()});
  json.close('}');
  return json.text();
}

std::string lease_request(std::int64_t lease) {
  Json json;
  json.open('{');
  add_number(json, "ID", lease);
  json.close('}');
  return json.text();
}

std::string authenticate_request(std::string_view user, std::string_view password) {
  Json json;
  json.open('{');
  json.member("name", user);
  json.member("password", password);
  json.close('}');
  return json.text();
}

}  // namespace mayfly
