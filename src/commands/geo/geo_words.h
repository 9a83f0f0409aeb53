// SPDX-License-Identifier: Apache-2.0
// Words of requests that all geo commands read alike. Each function gives nothing after an error
// reply.

#pragma once

#include <cstddef>
#include <optional>

#include "commands/call.h"
#include "commands/geo/geohash.h"

namespace mayfly {

// A longitude and a latitude, at words `i` and `i` + 1.
std::optional<GeoPoint> read_point(Call& call, std::size_t i);

// M, KM, FT or MI: how many meters it is.
std::optional<double> read_unit(Call& call, std::size_t i);

// A number, or an error reply with this text.
std::optional<double> read_length(Call& call, std::size_t i, std::string_view error);

}  // namespace mayfly
