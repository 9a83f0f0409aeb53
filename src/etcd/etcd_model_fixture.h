// SPDX-License-Identifier: Apache-2.0
// EtcdModel: as much of etcd as a register uses, in memory, for tests. It takes requests of the
// JSON gateway and replies as etcd 3.4 does. It is shared by the members that a test starts.

#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "etcd/gateway/requests.h"
#include "etcd/scripted_http_fixture.h"
#include "text/byte_text.h"
#include "text/json_reader.h"

namespace mayfly {

class EtcdModel {
 public:
  struct Record {
    std::string value;
    std::uint64_t version = 0;
    std::int64_t lease = 0;
  };
  struct Change {
    std::string key;
    std::string value;
    std::uint64_t version = 0;
  };

  // Any thread may call these.
  ScriptedReply answer(const ScriptedRequest& request);
  void put(const std::string& key, const std::string& value);
  void end_lease(std::int64_t lease);  // and what is bound to it
  std::map<std::string, Record> records() const;
  std::vector<Change> history() const;  // all puts
  std::vector<std::int64_t> leases() const;

  // Another cluster id, or an older state, with the records of now: as after a restore.
  void become(std::uint64_t id, std::uint64_t version);
  std::uint64_t version() const;

 private:
  std::string range(const JsonValue& request) const;
  std::string txn(const JsonValue& request);
  std::string header() const;
  std::string pair(const std::string& key, const Record& record) const;
  bool holds(const JsonValue& compare) const;
  void erase_lease(std::int64_t lease);

  mutable std::mutex mutex_;
  // Guarded by mutex_.
  std::map<std::string, Record> records_;
  std::vector<Change> history_;
  std::vector<std::int64_t> leases_;
  std::uint64_t version_ = 1;
  std::uint64_t id_ = 0;  // 0: replies do not have it
  std::int64_t last_lease_ = 100;
};

namespace etcd_model {

inline std::string text_at(const JsonValue& object, std::string_view name) {
  const JsonValue* const member = object.find(name);
  return member == nullptr ? std::string() : member->text;
}

inline std::string bytes_at(const JsonValue& object, std::string_view name) {
  return *from_base64(text_at(object, name));
}

inline std::int64_t number_at(const JsonValue& object, std::string_view name) {
  const std::string text = text_at(object, name);
  return text.empty() ? 0 : std::stoll(text);
}

}  // namespace etcd_model

inline std::string EtcdModel::header() const {
  const std::string cluster = id_ == 0 ? std::string() : fmt::format(R"("cluster_id":"{}",)", id_);
  return fmt::format(R"("header":{{{}"member_id":"7","revision":"{}","raft_term":"2"}})", cluster,
                     version_);
}

inline std::string EtcdModel::pair(const std::string& key, const Record& record) const {
  return fmt::format(R"({{"key":"{}","mod_revision":"{}","value":"{}"}})", base64(key),
                     record.version, base64(record.value));
}

inline ScriptedReply EtcdModel::answer(const ScriptedRequest& request) {
  const std::lock_guard lock(mutex_);
  const JsonValue body = *read_json(request.body);
  if (request.path == kRangePath) return {.body = range(body)};
  if (request.path == kTxnPath) return {.body = txn(body)};
  if (request.path == kGrantPath) {
    leases_.push_back(++last_lease_);
    return {.body = fmt::format(R"({{{},"ID":"{}","TTL":"15"}})", header(), last_lease_)};
  }
  const std::int64_t lease = etcd_model::number_at(body, "ID");
  if (request.path == kKeepalivePath) {
    const bool is_there = std::count(leases_.begin(), leases_.end(), lease) > 0;
    return {.body = fmt::format(R"({{"result":{{{},"ID":"{}"{}}}}})", header(), lease,
                                is_there ? R"(,"TTL":"15")" : "")};
  }
  if (request.path == kRevokePath) {
    erase_lease(lease);
    return {.body = fmt::format("{{{}}}", header())};
  }
  if (request.path == kWatchPath) {
    return {.kind = ScriptedReply::Kind::stream,
            .body = fmt::format(R"({{"result":{{{},"created":true}}}})", header()) + "\n"};
  }
  return {.status = 404, .body = "Not Found\n"};
}

inline std::string EtcdModel::range(const JsonValue& request) const {
  const std::string key = etcd_model::bytes_at(request, "key");
  const std::string end = etcd_model::bytes_at(request, "range_end");
  std::string pairs;
  for (const auto& [name, record] : records_) {
    const bool is_in = end.empty() ? name == key : name >= key && name < end;
    if (is_in) pairs += (pairs.empty() ? "" : ",") + pair(name, record);
  }
  return fmt::format(R"({{{},"kvs":[{}]}})", header(), pairs);
}

inline bool EtcdModel::holds(const JsonValue& compare) const {
  const auto found = records_.find(etcd_model::bytes_at(compare, "key"));
  const std::uint64_t version = found == records_.end() ? 0 : found->second.version;
  return version == static_cast<std::uint64_t>(etcd_model::number_at(compare, "mod_revision"));
}

inline std::string EtcdModel::txn(const JsonValue& request) {
  const auto& compares = request.find("compare")->values;
  const bool succeeds = std::all_of(compares.begin(), compares.end(),
                                    [this](const JsonValue& compare) { return holds(compare); });
  if (!succeeds) {
    std::string responses;
    for (const JsonValue& failure : request.find("failure")->values) {
      responses += responses.empty() ? "" : ",";
      responses += fmt::format(R"({{"response_range":{}}})", range(*failure.find("request_range")));
    }
    return fmt::format(R"({{{},"responses":[{}]}})", header(), responses);
  }
  ++version_;
  for (const JsonValue& success : request.find("success")->values) {
    if (const JsonValue* const put = success.find("request_put")) {
      const std::string key = etcd_model::bytes_at(*put, "key");
      records_[key] = {etcd_model::bytes_at(*put, "value"), version_,
                       etcd_model::number_at(*put, "lease")};
      history_.push_back({key, records_[key].value, version_});
    } else {
      records_.erase(etcd_model::bytes_at(*success.find("request_delete_range"), "key"));
    }
  }
  return fmt::format(R"({{{},"succeeded":true}})", header());
}

inline void EtcdModel::put(const std::string& key, const std::string& value) {
  const std::lock_guard lock(mutex_);
  records_[key] = {value, ++version_, 0};
  history_.push_back({key, value, version_});
}

inline void EtcdModel::end_lease(std::int64_t lease) {
  const std::lock_guard lock(mutex_);
  erase_lease(lease);
}

inline void EtcdModel::erase_lease(std::int64_t lease) {
  ++version_;
  std::erase(leases_, lease);
  std::erase_if(records_, [lease](const auto& named) { return named.second.lease == lease; });
}

inline std::map<std::string, EtcdModel::Record> EtcdModel::records() const {
  const std::lock_guard lock(mutex_);
  return records_;
}

inline std::vector<EtcdModel::Change> EtcdModel::history() const {
  const std::lock_guard lock(mutex_);
  return history_;
}

inline std::vector<std::int64_t> EtcdModel::leases() const {
  const std::lock_guard lock(mutex_);
  return leases_;
}

inline void EtcdModel::become(std::uint64_t id, std::uint64_t version) {
  const std::lock_guard lock(mutex_);
  id_ = id;
  version_ = version;
}

inline std::uint64_t EtcdModel::version() const {
  const std::lock_guard lock(mutex_);
  return version_;
}

}  // namespace mayfly
