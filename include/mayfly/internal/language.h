// SPDX-License-Identifier: Apache-2.0
// Says in one line what otherwise takes a page of errors: Mayfly is written in C++20.

#pragma once

#if __cplusplus < 202002L
#error "Mayfly needs C++20: compile with -std=c++20 or later (g++ 11, clang 14 or later)"
#include "mayfly/needs C++20"  // no such file exists: the compiler stops here
#endif
