// SPDX-License-Identifier: Apache-2.0
// The files of the web console that are part of this program; none if it was built without. The
// source is made by cmake/embed_web.cmake from the folder web/dist of the build.

#pragma once

#include <span>

#include "server/http/http_files.h"

namespace mayfly {

std::span<const HttpFile> embedded_web_files();

}  // namespace mayfly
