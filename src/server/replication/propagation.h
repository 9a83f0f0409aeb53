// SPDX-License-Identifier: Apache-2.0
// Propagation: passes writes to replicas and the append-only file, in units that belong together.
//
// A command, a transaction or a batch of a sweep is a unit. One that holds several commands is
// wrapped into MULTI and EXEC, so that half of it is never seen. Commands are encoded once, for all
// sinks.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "commands/call.h"
#include "resp/request.h"

namespace mayfly {

// Of a command that is about no database: MULTI and EXEC.
inline constexpr int kAnyDatabase = -1;

// Where commands go: redis.set_repl() of a script can leave one of them out.
namespace propagate_to {
inline constexpr unsigned aof = 1;
inline constexpr unsigned replicas = 2;
inline constexpr unsigned all = aof | replicas;
}  // namespace propagate_to

// Gets every command as the bytes of a request, with the database it is about.
class PropagationSink {
 public:
  virtual ~PropagationSink() = default;
  virtual unsigned target() const = 0;  // propagate_to
  virtual void take(int database, std::string_view command) = 0;
};

class Propagation {
 public:
  // Without a sink nothing is collected. A sink must be removed before it goes; both do nothing if
  // it is so already.
  void add_sink(PropagationSink& sink);
  void remove_sink(PropagationSink& sink);
  bool is_wanted() const { return !sinks_.empty(); }

  void add(int database, const Propagated& words);
  void add(int database, Words words);

  // Of what is added from now on.
  void set_targets(unsigned targets) { targets_ = targets; }

  // Forgets the unit that is open.
  void discard();

  // The unit is complete. Not `as_one`: its commands have nothing to do with each other, and are
  // not wrapped.
  void flush(bool as_one = true);

 private:
  struct Item {
    int database;
    unsigned targets;
    std::size_t end;  // in bytes_
  };
  template <class Texts>
  void encode(int database, const Texts& words);
  void send(const Item& item, std::string_view command) const;

  std::vector<PropagationSink*> sinks_;
  unsigned targets_ = propagate_to::all;
  std::vector<Item> unit_;
  std::string bytes_;
};

}  // namespace mayfly
