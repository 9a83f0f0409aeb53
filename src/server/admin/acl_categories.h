// SPDX-License-Identifier: Apache-2.0
// The categories by which Valkey's access control groups commands, derived from a command's flags
// and group.

#pragma once

#include <span>
#include <string_view>

#include "commands/command.h"

namespace mayfly {

// In Valkey's order, without the "@".
std::span<const std::string_view> acl_categories();

// REQUIRES: `category` is one of acl_categories().
bool is_in_category(const Command& command, std::string_view category);

}  // namespace mayfly
