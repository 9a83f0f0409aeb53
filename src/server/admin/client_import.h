// SPDX-License-Identifier: Apache-2.0
// CLIENT IMPORT-SOURCE, whose row is in client_commands.cc.

#pragma once

namespace mayfly {

class Call;

// CLIENT IMPORT-SOURCE ON | OFF
void client_import_source(Call& call);

}  // namespace mayfly
