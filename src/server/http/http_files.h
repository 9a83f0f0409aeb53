// SPDX-License-Identifier: Apache-2.0
// HttpFile: a file of the console that is part of the program, and the answer to a request for it.

#pragma once

#include <span>
#include <string_view>

#include "net/http/http_request.h"
#include "net/http/http_response.h"

namespace mayfly {

struct HttpFile {
  std::string_view path;  // "/app.js"
  std::string_view type;  // "text/javascript; charset=utf-8"
  std::string_view etag;  // with its quotes
  std::string_view plain;
  std::string_view gzip;  // empty: it would not be shorter
};

// To GET and HEAD; "/" is "/index.html". Compressed if the client takes it.
HttpResponse answer_file(std::span<const HttpFile> files, const HttpRequest& request);

}  // namespace mayfly
