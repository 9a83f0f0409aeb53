// SPDX-License-Identifier: Apache-2.0
#include "etcd/etcd_status.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "etcd/etcd_calls.h"
#include "etcd/etcd_meter.h"
#include "etcd/gateway/replies.h"
#include "etcd/gateway/requests.h"
#include "etcd/http/curl_library.h"
#include "etcd/http/http_loop.h"
#include "etcd/http/quiet_thread.h"
#include "mayfly/internal/stopwatch.h"

namespace mayfly {
namespace {

void take_status(EtcdEndpointStatus& endpoint, const Result<std::string>& body) {
  const Result<StatusReply> status =
      body ? parse_status_reply(*body) : Result<StatusReply>(body.error());
  if (!status) {
    endpoint.error = status.error().message;
    return;
  }
  endpoint.version = status->version;
  endpoint.member = status->member;
  endpoint.leader = status->leader;
  endpoint.is_leader = status->leader != 0 && status->leader == status->member;
  endpoint.database_bytes = status->database_bytes;
  endpoint.database_bytes_in_use = status->database_bytes_in_use;
  endpoint.alarms = status->errors;
}

void take_names(std::vector<EtcdEndpointStatus>& endpoints,
                const std::vector<EtcdMember>& members) {
  for (EtcdEndpointStatus& endpoint : endpoints) {
    endpoint.members = members.size();
    const auto is_it = [&](const EtcdMember& member) { return member.id == endpoint.member; };
    const auto found = std::find_if(members.begin(), members.end(), is_it);
    if (found != members.end()) endpoint.name = found->name;
  }
}

// Asks for the state of each endpoint, and for the list of members if that is wanted.
void ask_each(const CurlLibrary& curl, const EtcdOptions& options,
              std::vector<EtcdEndpointStatus>& endpoints, std::string* members) {
  HttpLoop loop(curl, {options.ca, options.cert, options.key});
  EtcdMeter meter;
  std::size_t open = endpoints.size() + (members == nullptr ? 0 : 1);
  // Calls of one endpoint each, so that no other one answers in its place.
  std::vector<EtcdOptions> lone(endpoints.size(), options);
  std::vector<std::unique_ptr<EtcdCalls>> askers;
  for (std::size_t i = 0; i < endpoints.size(); ++i) {
    lone[i].endpoints = {endpoints[i].endpoint};
    askers.push_back(std::make_unique<EtcdCalls>(loop, lone[i], meter));
    const std::int64_t begun = monotonic_ns();
    askers[i]->call(kStatusPath, "{}", [&, i, begun](const EtcdReply& reply) {
      endpoints[i].latency_ms = static_cast<double>(monotonic_ns() - begun) / 1e6;
      take_status(endpoints[i], reply.body);
      --open;
    });
  }
  EtcdCalls any(loop, options, meter);
  if (members != nullptr) {
    any.call(kMembersPath, "{}", [&](const EtcdReply& reply) {
      if (reply.body) *members = *reply.body;
      --open;
    });
  }
  while (open > 0) loop.run_once();
}

std::vector<EtcdEndpointStatus> ask_all(const CurlLibrary& curl, const EtcdOptions& options) {
  std::vector<EtcdEndpointStatus> endpoints(options.endpoints.size());
  for (std::size_t i = 0; i < endpoints.size(); ++i) endpoints[i].endpoint = options.endpoints[i];
  std::string list;
  ask_each(curl, options, endpoints, &list);
  const Result<std::vector<EtcdMember>> members = parse_members_reply(list);
  if (!members) return endpoints;  // then they have no names
  std::vector<EtcdEndpointStatus> others = unnamed_members(endpoints, *members);
  if (!others.empty()) ask_each(curl, options, others, nullptr);
  endpoints.insert(endpoints.end(), others.begin(), others.end());
  remove_doubles(endpoints, members->size());
  take_names(endpoints, *members);
  return endpoints;
}

// Of each endpoint by itself, the newest.
Result<RegisterSnapshot> read_each(const CurlLibrary& curl, const EtcdOptions& options) {
  HttpLoop loop(curl, {options.ca, options.cert, options.key});
  EtcdMeter meter;
  std::size_t open = options.endpoints.size();
  Result<RegisterSnapshot> newest = Error{Code::io, "no member of etcd answers"};
  std::vector<EtcdOptions> lone(options.endpoints.size(), options);
  std::vector<std::unique_ptr<EtcdCalls>> askers;
  for (std::size_t i = 0; i < lone.size(); ++i) {
    lone[i].endpoints = {options.endpoints[i]};
    askers.push_back(std::make_unique<EtcdCalls>(loop, lone[i], meter));
    askers[i]->call(kRangePath, lone_range_request(options.prefix), [&](const EtcdReply& reply) {
      --open;
      if (!reply.body) return;
      Result<RegisterSnapshot> snapshot = parse_range_reply(*reply.body, options.prefix);
      if (snapshot && (!newest || snapshot->version > newest->version)) newest = *snapshot;
    });
  }
  while (open > 0) loop.run_once();
  return newest;
}

}  // namespace

std::vector<EtcdEndpointStatus> unnamed_members(const std::vector<EtcdEndpointStatus>& endpoints,
                                                const std::vector<EtcdMember>& members) {
  std::vector<EtcdEndpointStatus> unnamed;
  const bool is_secure = std::ranges::any_of(endpoints, [](const EtcdEndpointStatus& endpoint) {
    return endpoint.endpoint.starts_with("https:");
  });
  for (const EtcdMember& member : members) {
    // A password for https endpoints is sent to no others.
    const auto url = std::ranges::find_if(member.urls, [&](const std::string& one) {
      return !is_secure || one.starts_with("https:");
    });
    const bool is_named = std::ranges::any_of(endpoints, [&](const EtcdEndpointStatus& endpoint) {
      return endpoint.member == member.id ||
             std::ranges::find(member.urls, endpoint.endpoint) != member.urls.end();
    });
    if (is_named || url == member.urls.end()) continue;
    EtcdEndpointStatus& one = unnamed.emplace_back();
    one.endpoint = *url;
    one.member = member.id;
    one.is_named = false;
  }
  return unnamed;
}

void remove_doubles(std::vector<EtcdEndpointStatus>& endpoints, std::size_t members) {
  for (std::size_t i = endpoints.size(); i-- > 0 && endpoints.size() > members;) {
    const EtcdEndpointStatus& one = endpoints[i];
    if (one.is_named || one.error.empty()) continue;
    endpoints.erase(endpoints.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

Result<RegisterSnapshot> read_one_etcd_member(const EtcdOptions& options) {
  if (const Status status = check(options); !status) return status.error();
  const Result<const CurlLibrary*> curl = curl_library();
  if (!curl) return curl.error();
  std::optional<Result<RegisterSnapshot>> newest;
  start_quiet_thread([&] { newest = read_each(**curl, options); }).join();
  return *std::move(newest);
}

Result<std::vector<EtcdEndpointStatus>> etcd_status(const EtcdOptions& options) {
  if (const Status status = check(options); !status) return status.error();
  const Result<const CurlLibrary*> curl = curl_library();
  if (!curl) return curl.error();
  std::vector<EtcdEndpointStatus> endpoints;
  start_quiet_thread([&] { endpoints = ask_all(**curl, options); }).join();
  return endpoints;
}

}  // namespace mayfly
