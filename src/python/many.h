// SPDX-License-Identifier: Apache-2.0
// Many entries in one call: taken from Python first, then written or read without the GIL.

#pragma once

#include <pybind11/pybind11.h>

#include <cstddef>

#include "python/handles.h"

namespace mayfly {

void put_many(FamilyHandle& family, pybind11::object items, pybind11::handle ttl);
pybind11::dict get_many(FamilyHandle& family, pybind11::handle keys);
std::size_t delete_many(FamilyHandle& family, pybind11::handle keys);

}  // namespace mayfly
