// SPDX-License-Identifier: Apache-2.0
// Verdict: what becomes of a request, decided in one place (Server::judge).
//
//   run      now
//   queue    until EXEC
//   wait     for the end of a pause: the client keeps it, and it is judged anew
//   refuse   with an error
//
// EXEC is judged by what is queued: it needs what any of the queued commands needs.

#pragma once

#include <string>

namespace mayfly {

struct Verdict {
  enum class Kind { run, queue, wait, refuse };

  Kind kind = Kind::run;
  std::string error;  // of refuse: "LOADING ..."
};

}  // namespace mayfly
