// SPDX-License-Identifier: Apache-2.0
#include "server/http/http_files.h"

#include <algorithm>

namespace mayfly {
namespace {

// Whether a list such as "gzip;q=0.5, br" allows gzip.
bool takes_gzip(std::string_view list) {
  while (!list.empty()) {
    std::string_view item = list.substr(0, list.find(','));
    list.remove_prefix(std::min(item.size() + 1, list.size()));
    while (item.starts_with(' ')) item.remove_prefix(1);
    if (!item.starts_with("gzip") && !item.starts_with('*')) continue;
    const std::size_t quality = item.find("q=");
    if (quality == item.npos) return true;
    return item.substr(quality + 2).find_first_of("123456789") != item.npos;
  }
  return false;
}

bool has_etag(std::string_view list, std::string_view etag) {
  return list == "*" || list.find(etag) != list.npos;
}

}  // namespace

HttpResponse answer_file(std::span<const HttpFile> files, const HttpRequest& request) {
  if (request.method != "GET" && request.method != "HEAD") {
    HttpResponse response = http_error(405, "only GET and HEAD are supported here");
    response.headers.emplace_back("Allow", "GET, HEAD");
    return response;
  }
  std::string_view path = request.path;
  if (path == "/") path = "/index.html";
  const auto found =
      std::ranges::find_if(files, [&](const HttpFile& file) { return file.path == path; });
  if (found == files.end()) {
    if (!files.empty() || path != "/index.html") return http_text(404, "not found\n");
    return http_text(404,
                     "this program was built without the web console (see docs/console.md); "
                     "/metrics, /health and /ready are served\n");
  }
  HttpResponse response;
  response.headers.emplace_back("ETag", found->etag);
  response.headers.emplace_back("Cache-Control", "no-cache");  // asked for again, by its ETag
  response.headers.emplace_back("Vary", "Accept-Encoding");
  if (has_etag(request.header("if-none-match"), found->etag)) {
    response.status = 304;
    return response;
  }
  response.type = found->type;
  const bool is_gzip = !found->gzip.empty() && takes_gzip(request.header("accept-encoding"));
  if (is_gzip) response.headers.emplace_back("Content-Encoding", "gzip");
  response.body = is_gzip ? found->gzip : found->plain;
  return response;
}

}  // namespace mayfly
