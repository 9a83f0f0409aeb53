// SPDX-License-Identifier: Apache-2.0
// Whether a person looks at what is printed.

#pragma once

namespace mayfly {

bool is_terminal(int descriptor);

// Whether that person likes colours on the standard output (see no-color.org).
bool wants_colours();

}  // namespace mayfly
