// SPDX-License-Identifier: Apache-2.0
#include "cli/cluster/watch/status_command.h"

#include <fmt/format.h>

#include <optional>

namespace mayfly {
namespace {

constexpr Millis kStatusInterval{1000};

}  // namespace

Result<Exit> run_status(const StatusArgs& args, ClusterSession& session) {
  const Colours colours(session.talk.has_colours());
  MoveRates rates;
  std::optional<ClusterPicture> picture;
  while (true) {
    ClusterPicture next = take_picture(session, args.picture, picture ? &*picture : nullptr, rates);
    picture.emplace(std::move(next));
    if (session.is_json) {
      session.talk.print(picture_json(*picture));
    } else if (args.is_watching) {
      session.talk.show(picture_lines(*picture, colours));
    } else {
      // Rates need two looks.
      if (!picture->progress.empty() && picture->rates.empty() &&
          session.talk.pause(kStatusInterval / 2))
        continue;
      session.talk.print(fmt::format("{}\n", fmt::join(picture_lines(*picture, colours), "\n")));
    }
    if (!args.is_watching) break;
    if (!session.talk.pause(kStatusInterval)) return Exit::ok;
  }
  return picture->error.empty() ? Exit::ok : Exit::failed;
}

}  // namespace mayfly
