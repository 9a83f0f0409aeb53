// SPDX-License-Identifier: Apache-2.0
// Register: where a cluster keeps its records (records.h). Behind it is etcd (src/etcd), or a fake
// in tests (fake_register.h). It is a register with compare-and-swap, and its notices are hints.
//
//   register.commit({.compares = {{"shards/a", 17}}, .puts = {{"shards/a", text}}},
//                   [&](const CommitAnswer& answer) { ... });
//
// Keys are relative to the prefix of the cluster, such as "shards/a". The version of a record is a
// number that grows with every change of anything in the register; an absent record has version 0.
//
// Threads: one. Every answer arrives from within deliver(), never from within the call that asks.
// Each question gets exactly one answer; when the register is destroyed, it may get none.

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mayfly/result.h"
#include "mayfly/time.h"

namespace mayfly {

struct RegisterEntry {
  std::string key;
  std::optional<std::string> value;  // nothing: it was deleted
  std::uint64_t version = 0;
};

// Which register, and how far it was: etcd's cluster id and revision.
struct RegisterPoint {
  std::uint64_t id = 0;  // 0: not known
  std::uint64_t version = 0;

  bool operator==(const RegisterPoint&) const = default;
};

// All records at one moment.
struct RegisterSnapshot {
  std::vector<RegisterEntry> entries;
  std::uint64_t version = 0;  // of the register: no entry has a greater one
  std::uint64_t id = 0;       // of the register; 0: not known
};

// Done if every record compared has that version, and then all puts happen at once.
struct RegisterCommit {
  struct Compare {
    std::string key;
    std::uint64_t version = 0;  // 0: it must not exist
  };
  struct Put {
    std::string key;
    std::optional<std::string> value;  // nothing: delete it
  };
  std::vector<Compare> compares;
  std::vector<Put> puts;
};

enum class CommitOutcome {
  done,
  refused,  // a version differs: nothing has changed
  unknown,  // no answer: it may have happened, or may happen later. Repeat it to find out
};

struct CommitAnswer {
  CommitOutcome outcome = CommitOutcome::unknown;
  std::uint64_t version = 0;           // done: the version of what was put
  std::vector<RegisterEntry> current;  // refused: the records compared, as they are
  std::string error;                   // unknown: why
};

// For INFO and `mayfly cluster check`.
struct RegisterStats {
  bool is_connected = false;  // the last question was answered
  std::string error;          // of the last one that was not
  std::string refused;        // why its answers are not used: see trust(); empty: they are
  bool is_refused_for_good = false;
  double latency_ms_p50 = 0;
  double latency_ms_p99 = 0;
  std::uint64_t unknown = 0;         // commits without an answer
  std::uint64_t watch_restarts = 0;  // each followed by reading everything
};

class Register {
 public:
  using OnRead = std::function<void(const Result<RegisterSnapshot>&)>;
  using OnCommit = std::function<void(const CommitAnswer&)>;
  using OnChange = std::function<void(const std::vector<RegisterEntry>&)>;

  virtual ~Register() = default;

  // Reads all records, linearizably. Fails if there is no answer in time.
  virtual void read(OnRead answered) = 0;

  virtual void commit(RegisterCommit commit, OnCommit answered) = 0;

  // Calls back with records that have changed, from now on. It may miss some, tell them twice or
  // out of order: read() is the truth, and a record with a lower version than a known one is old.
  virtual void watch(OnChange changed) = 0;

  // Keeps a record there as long as this process lives, and some 15 s longer. It replaces only what
  // it has read before, so that a process that has ended cannot overwrite its successor. Calling it
  // again changes the value.
  virtual void announce(std::string key, std::string value) = 0;

  // From now on answers of another register, or of this one with a lower version than one that was
  // seen, are failures, and nothing is asked of such a register but read() (register_trust.h).
  virtual void trust(const RegisterPoint& point) = 0;

  // From now on all answers are failures, for this reason.
  virtual void distrust(std::string why) = 0;

  // Makes the calls that are waiting. Called in the loop's thread after the register has woken it.
  virtual void deliver() = 0;

  virtual RegisterStats stats() const = 0;
};

}  // namespace mayfly
