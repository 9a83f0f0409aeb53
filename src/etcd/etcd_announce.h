// SPDX-License-Identifier: Apache-2.0
// EtcdAnnounce: keeps one record in etcd, bound to a lease that is kept alive.
//
//   granting -> reading -> putting -> there (a keepalive every 5 s)
//      ^           ^__________|         |     refused: somebody has changed it
//      |________________________________|     the lease is lost
//
// The record is put by compare-and-swap on what was read. So a put of a process that has ended,
// which comes late, cannot replace the record of its successor.

#pragma once

#include <cstdint>
#include <string>

#include "cluster/register.h"
#include "etcd/etcd_calls.h"
#include "etcd/etcd_options.h"
#include "etcd/http/http_loop.h"

namespace mayfly {

class EtcdAnnounce {
 public:
  // All of them must outlive it.
  EtcdAnnounce(HttpLoop& loop, EtcdCalls& calls, const EtcdOptions& options);

  void announce(std::string key, std::string value);

  // All records as they were read: puts the record again if somebody has deleted it.
  void on_snapshot(const RegisterSnapshot& snapshot);

  std::int64_t lease() const { return lease_; }

 private:
  enum class State { idle, working, there };

  void work();  // the next step
  void grant();
  void read();
  void put();
  void on_put(const EtcdReply& reply, const RegisterCommit& commit);
  void keep_alive();
  void on_kept_alive(const EtcdReply& reply);
  void again();  // after a failure

  HttpLoop& loop_;
  EtcdCalls& calls_;
  const EtcdOptions& options_;

  std::string key_;
  std::string value_;
  State state_ = State::idle;
  bool has_changed_ = false;   // the value, while a step is under way
  bool has_read_ = false;      // `version_` is known
  std::uint64_t version_ = 0;  // of the record, as read or put
  std::int64_t lease_ = 0;
  Millis pause_;  // before the next try
};

}  // namespace mayfly
