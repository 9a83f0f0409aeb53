// SPDX-License-Identifier: Apache-2.0
// DEBUG RELOAD and LOADAOF: from memory to the disk and back.

#include <fmt/format.h>

#include "server/core/server.h"
#include "server/monitoring/debug_handlers.h"

namespace mayfly {
namespace {

void tell(Call& call, const Status& status) {
  if (status) return call.reply().ok();
  call.fail(fmt::format("ERR {}", status.error().message));
}

}  // namespace

// DEBUG RELOAD [NOSAVE] [NOFLUSH] [MERGE]
void debug_reload(Call& call) {
  bool saves = true;
  bool flushes = true;
  for (std::size_t i = 2; i < call.count(); ++i) {
    if (call.is(i, "nosave")) {
      saves = false;
    } else if (call.is(i, "noflush")) {
      flushes = false;
    } else if (call.is(i, "merge")) {
      return call.fail("ERR DEBUG RELOAD cannot MERGE: a key that is there twice is an error here");
    } else {
      return call.fail("ERR DEBUG RELOAD only supports the NOSAVE and NOFLUSH options.");
    }
  }
  tell(call, client_call(call).server.persistence().reload(saves, flushes));
}

// DEBUG LOADAOF
void debug_loadaof(Call& call) { tell(call, client_call(call).server.persistence().load_aof()); }

}  // namespace mayfly
