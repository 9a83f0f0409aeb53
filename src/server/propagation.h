// SPDX-License-Identifier: Apache-2.0
// Propagation: what goes to replicas and the append-only file, in units that belong together.
//
// A command, a transaction or a batch of a sweep is a unit. One that holds several commands is
// wrapped into MULTI and EXEC, so that nobody sees half of it.

#pragma once

#include <functional>
#include <string>
#include <vector>

#include "commands/call.h"
#include "resp/request.h"

namespace mayfly {

class Propagation {
 public:
  // Gets every command, with the database it is about.
  using Sink = std::function<void(int database, const Propagated& words)>;

  // Without a sink nothing is collected.
  void add_sink(Sink sink) { sinks_.push_back(std::move(sink)); }
  bool is_wanted() const { return !sinks_.empty(); }

  void add(int database, Propagated words);
  void add(int database, Words words);

  // The unit is complete.
  void flush();

 private:
  struct Item {
    int database;
    Propagated words;
  };
  void send(int database, const Propagated& words) const;

  std::vector<Sink> sinks_;
  std::vector<Item> unit_;
};

}  // namespace mayfly
