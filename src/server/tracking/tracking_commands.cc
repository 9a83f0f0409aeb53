// SPDX-License-Identifier: Apache-2.0
// CLIENT TRACKING, TRACKINGINFO, CACHING and GETREDIR.

#include "server/tracking/tracking_commands.h"

#include <fmt/format.h>

#include <algorithm>

#include "server/core/clients.h"
#include "server/core/server_call.h"
#include "server/tracking/tracking.h"

namespace mayfly {
namespace {

bool overlap(std::string_view one, std::string_view other) {
  return one.starts_with(other) || other.starts_with(one);
}

// Empty if no prefix overlaps with another one, else the error.
std::string find_overlap(const std::vector<std::string_view>& given, const Client& client) {
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (client.tracking) {
      for (const std::string_view known : client.tracking->prefixes) {
        if (!overlap(given[i], known)) continue;
        return fmt::format(
            "ERR Prefix '{}' overlaps with an existing prefix '{}'. Prefixes for a single client "
            "must not overlap.",
            given[i], known);
      }
    }
    for (std::size_t j = i + 1; j < given.size(); ++j) {
      if (!overlap(given[i], given[j])) continue;
      return fmt::format(
          "ERR Prefix '{}' overlaps with another provided prefix '{}'. Prefixes for a single "
          "client must not overlap.",
          given[i], given[j]);
    }
  }
  return {};
}

struct TrackingRequest {
  ClientTracking tracking;
  std::vector<std::string_view> prefixes;
};

// REDIRECT id, at word `i`. False after an error reply.
bool read_redirect(Call& call, std::size_t i, ClientTracking& tracking) {
  if (tracking.redirect != 0) {
    call.fail("ERR A client can only redirect to a single other client");
    return false;
  }
  const std::optional<std::int64_t> id = call.integer(i);
  if (!id) return false;
  tracking.redirect = static_cast<std::uint64_t>(*id);
  if (parts_of(call).clients.find(tracking.redirect) != nullptr) return true;
  call.fail("ERR The client ID you want redirect to does not exist");
  return false;
}

// The options behind ON and OFF; nothing after an error reply.
std::optional<TrackingRequest> read_options(Call& call) {
  TrackingRequest request;
  ClientTracking& tracking = request.tracking;
  for (std::size_t i = 3; i < call.count(); ++i) {
    const bool has_more = i + 1 < call.count();
    if (call.is(i, "redirect") && has_more) {
      if (!read_redirect(call, ++i, tracking)) return std::nullopt;
    } else if (call.is(i, "bcast")) {
      tracking.is_broadcast = true;
    } else if (call.is(i, "optin")) {
      tracking.opts_in = true;
    } else if (call.is(i, "optout")) {
      tracking.opts_out = true;
    } else if (call.is(i, "noloop")) {
      tracking.no_loop = true;
    } else if (call.is(i, "prefix") && has_more) {
      request.prefixes.push_back(call.word(++i));
    } else {
      call.fail_syntax();
      return std::nullopt;
    }
  }
  return request;
}

// Why these options cannot be set now; empty if they can.
std::string check_options(const TrackingRequest& request, const Client& client) {
  const ClientTracking& wanted = request.tracking;
  if (!wanted.is_broadcast && !request.prefixes.empty()) {
    return "ERR PREFIX option requires BCAST mode to be enabled";
  }
  if (client.tracking && client.tracking->is_broadcast != wanted.is_broadcast) {
    return "ERR You can't switch BCAST mode on/off before disabling tracking for this client, and "
           "then re-enabling it with a different mode.";
  }
  if (wanted.is_broadcast && (wanted.opts_in || wanted.opts_out)) {
    return "ERR OPTIN and OPTOUT are not compatible with BCAST";
  }
  if (wanted.opts_in && wanted.opts_out) {
    return "ERR You can't specify both OPTIN mode and OPTOUT mode";
  }
  if (client.tracking && ((wanted.opts_in && client.tracking->opts_out) ||
                          (wanted.opts_out && client.tracking->opts_in))) {
    return "ERR You can't switch OPTIN/OPTOUT mode before disabling tracking for this client, and "
           "then re-enabling it with a different mode.";
  }
  return wanted.is_broadcast ? find_overlap(request.prefixes, client) : std::string();
}

}  // namespace

void client_tracking(Call& call) {
  Client& client = client_of(call);
  std::optional<TrackingRequest> request = read_options(call);
  if (!request) return;
  Tracking& tracking = parts_of(call).tracking;
  if (call.is(2, "on")) {
    if (const std::string wrong = check_options(*request, client); !wrong.empty()) {
      return call.fail(wrong);
    }
    tracking.enable(client, std::move(request->tracking), request->prefixes);
  } else if (call.is(2, "off")) {
    tracking.disable(client);
  } else {
    return call.fail_syntax();
  }
  call.reply().ok();
}

void client_trackinginfo(Call& call) {
  const std::optional<ClientTracking>& tracking = client_of(call).tracking;
  std::vector<std::string_view> flags = {tracking ? "on" : "off"};
  const auto add = [&](bool is_set, std::string_view name) {
    if (is_set) flags.push_back(name);
  };
  if (tracking) {
    add(tracking->is_broadcast, "bcast");
    add(tracking->opts_in, "optin");
    add(tracking->opts_in && tracking->caching, "caching-yes");
    add(tracking->opts_out, "optout");
    add(tracking->opts_out && tracking->caching, "caching-no");
    add(tracking->no_loop, "noloop");
    add(tracking->is_broken, "broken_redirect");
  }
  Reply& reply = call.reply();
  reply.map(3);
  reply.bulk("flags");
  reply.set(flags.size());
  for (const std::string_view flag : flags) reply.bulk(flag);
  reply.bulk("redirect");
  reply.integer(tracking ? static_cast<std::int64_t>(tracking->redirect) : -1);
  reply.bulk("prefixes");
  reply.array(tracking ? tracking->prefixes.size() : 0);
  if (!tracking) return;
  for (const std::string_view prefix : tracking->prefixes) reply.bulk(prefix);
}

void client_caching(Call& call) {
  std::optional<ClientTracking>& tracking = client_of(call).tracking;
  if (!tracking) {
    return call.fail(
        "ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or "
        "OPTOUT mode enabled");
  }
  if (call.is(2, "yes")) {
    if (!tracking->opts_in) {
      return call.fail(
          "ERR CLIENT CACHING YES is only valid when tracking is enabled in OPTIN mode.");
    }
  } else if (call.is(2, "no")) {
    if (!tracking->opts_out) {
      return call.fail(
          "ERR CLIENT CACHING NO is only valid when tracking is enabled in OPTOUT mode.");
    }
  } else {
    return call.fail_syntax();
  }
  tracking->caching = true;
  call.reply().ok();
}

void client_getredir(Call& call) {
  const std::optional<ClientTracking>& tracking = client_of(call).tracking;
  call.reply().integer(tracking ? static_cast<std::int64_t>(tracking->redirect) : -1);
}

}  // namespace mayfly
