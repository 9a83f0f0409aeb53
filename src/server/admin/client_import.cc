// SPDX-License-Identifier: Apache-2.0
// A tool that copies the data of another server sends commands that mean what they meant there. So
// in import mode nothing expires by itself, and the tool sees what is due: the other server tells
// it what to remove.

#include "server/admin/client_import.h"

#include "server/core/server.h"

namespace mayfly {

void client_import_source(Call& call) {
  ClientCall& here = client_call(call);
  const bool is_off = call.is(2, "off");
  if (!here.server.config().import_mode && !is_off) {
    return call.fail("ERR Server is not in import mode");
  }
  if (!is_off && !call.is(2, "on")) return call.fail_syntax();
  here.client.is_import_source = !is_off;
  call.reply().ok();
}

}  // namespace mayfly
