// SPDX-License-Identifier: Apache-2.0
// Whether a request comes from the console's own page, as a browser says: against pages of other
// origins that let a browser send requests here, and against names that are made to point here (DNS
// rebinding).

#pragma once

#include <span>
#include <string>
#include <string_view>

#include "mayfly/result.h"
#include "net/http/http_request.h"

namespace mayfly {

// Whether the value of Host is an address, localhost, or one of `names`, with any port.
bool is_known_host(std::string_view host, std::span<const std::string> names);

// The error says why a request to the API is refused. It must have `X-Mayfly: console`, which pages
// of other origins can't send without being asked first, and no header that says that it comes from
// one.
Status check_same_origin(const HttpRequest& request);

}  // namespace mayfly
