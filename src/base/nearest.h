// SPDX-License-Identifier: Apache-2.0
// Did you mean ...? The right word nearest to a wrong one.

#pragma once

#include <span>
#include <string>
#include <string_view>

namespace mayfly {

// How many letters must be added, removed, changed or swapped with their neighbour to make `b` of
// `a`.
std::size_t edit_distance(std::string_view a, std::string_view b);

// The word of `words` that `wrong` was probably meant to be: one that is an edit away, one that
// begins with it, or the one fewest edits away. Empty if none is near enough to be worth a guess.
std::string_view nearest(std::string_view wrong, std::span<const std::string_view> words);

// "one, two or three", for saying what would have been right.
std::string listed(std::span<const std::string_view> words);

}  // namespace mayfly
