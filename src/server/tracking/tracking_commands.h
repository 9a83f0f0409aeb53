// SPDX-License-Identifier: Apache-2.0
// Handlers of CLIENT that are about client-side caching; client_commands.cc has their rows.

#pragma once

namespace mayfly {

class Call;

void client_tracking(Call& call);
void client_trackinginfo(Call& call);
void client_caching(Call& call);
void client_getredir(Call& call);

}  // namespace mayfly
