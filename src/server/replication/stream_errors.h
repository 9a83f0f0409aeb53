// SPDX-License-Identifier: Apache-2.0
// StreamErrors: what went wrong with commands of the primary, or of a replica, in the log. Nobody
// reads an error reply there, and after one the data of two servers may differ.

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "mayfly/time.h"
#include "server/core/log.h"

namespace mayfly {

struct StreamError {
  std::string_view peer;     // "primary", "replica"
  std::string_view address;  // of the peer
  std::string_view command;  // as it came
  std::string_view error;    // "WRONGTYPE ..."
};

class StreamErrors {
 public:
  // Writes to the log, at most once a second for each kind of error; the next line says how many
  // were left out.
  void add(Log& log, Time now, const StreamError& error);

 private:
  struct Kind {
    Time next = Time::min();
    std::uint64_t left_out = 0;
  };
  std::map<std::string, Kind, std::less<>> kinds_;  // by the first word of the error
};

}  // namespace mayfly
