// SPDX-License-Identifier: Apache-2.0
// The stack of the thread, on which functions in C that call Lua again are nested.

#pragma once

namespace mayfly {

// Whether it has room for what one stack of Lua can nest: LuaJIT limits that to 65,500 values, by
// which its functions (sort, load, format) fill less than 4 MB. So a function that is nested beyond
// that limit, or begins another stack of Lua as a coroutine does, must ask this first.
bool has_c_stack();

}  // namespace mayfly
