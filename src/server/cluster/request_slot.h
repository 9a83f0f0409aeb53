// SPDX-License-Identifier: Apache-2.0
// The hash slot of a request: that of all its keys, or of the shard channels that it names.
//
//   const RequestSlot of = request_slot(command, words);
//   if (of.kind == RequestSlot::cross) ...      // CROSSSLOT
//
// It does not allocate for commands whose keys are a plain range, nearly all of them.

#pragma once

#include "cluster/hash_slot.h"
#include "commands/command.h"
#include "resp/request.h"
#include "server/expiry/log_key.h"

namespace mayfly {

struct RequestSlot {
  enum Kind : unsigned char {
    none,  // it has no keys
    one,
    cross,  // keys of several slots
  };

  Kind kind = none;
  HashSlot slot = 0;

  // Takes one more key into account. Each primary has an expiry log of its own, whatever its slots.
  void add(std::string_view key) {
    if (key == kExpiryLogKey) return;
    const HashSlot its = hash_slot(key);
    if (kind == none) {
      *this = {one, its};
    } else if (its != slot) {
      kind = cross;
    }
  }

  // Likewise the keys of another request.
  void join(const RequestSlot& other) {
    if (other.kind == none || *this == other) return;
    *this = kind == none ? other : RequestSlot{cross, slot};
  }

  bool operator==(const RequestSlot&) const = default;
};

// REQUIRES: the number of words fits the command.
inline RequestSlot request_slot(const Command& command, Words words) {
  RequestSlot result;
  if (has_one_key(command)) {
    result.add(words[1]);
    return result;
  }
  each_key(command, words, [&](std::string_view key) { result.add(key); });
  if ((command.flags & flag::shard_channels) != 0) {
    const std::size_t end = command.arity > 0 ? 2 : words.size();
    for (std::size_t i = 1; i < end; ++i) result.add(words[i]);
  }
  return result;
}

}  // namespace mayfly
