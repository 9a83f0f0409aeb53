// SPDX-License-Identifier: Apache-2.0
// The crash report in the log, when a signal such as SIGSEGV or SIGABRT ends the process.
//
//   catch_crashes({.log_path = "mayfly.log", .request = &running, .clock = &clock});
//   keep_info_for_crash(info_text(...), now);      // now and then
//
// It has the signal, the version, the addresses of the functions under way, the client and command
// under way, and INFO as it was some seconds before. It has no secret: no words of a request, no
// keys, no values, no memory. Then the process ends by that signal, as without it.
//
// The handler calls async-signal-safe functions only: it allocates no memory, takes no lock and
// uses no stream. If broken data makes it crash, or it takes longer than five seconds, the process
// ends, and the lines written before stay.
//
// Threads: a crash in any thread is reported; the others go on meanwhile. All else is called in
// one thread.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "mayfly/clock.h"
#include "mayfly/time.h"

namespace mayfly {

class Client;
struct Command;

// The request that runs now. All null or 0: none.
struct RunningRequest {
  const Client* client = nullptr;
  const Command* command = nullptr;
  const Command* of_script = nullptr;  // the last one that the script has called
  std::size_t words = 0;
};

struct CrashSources {
  std::string log_path;                     // empty: standard output
  const RunningRequest* request = nullptr;  // must outlive the process, as the next
  const Clock* clock = nullptr;
};

void catch_crashes(const CrashSources& sources);
void release_crashes();  // signals end the process without a report again

// The text is copied, as much of it as there is room for.
void keep_info_for_crash(std::string_view info, Time now);

// The part of the handler that writes; for tests. `instruction`: where it happened.
void write_crash_report(int fd, int signal, int code, const void* address, const void* instruction);

}  // namespace mayfly
