// SPDX-License-Identifier: Apache-2.0
#include "etcd/http/curl_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <string>

namespace mayfly {
namespace {

constexpr const char* kCurlFile = "libcurl.so.4";

std::string dl_error() {
  const char* const text = ::dlerror();
  return text == nullptr ? "unknown error" : text;
}

}  // namespace

Result<CurlLibrary> load_curl_library(const char* file) {
  void* const handle = ::dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    return Error{Code::unsupported, fmt::format("cannot load {}: {} (install the package libcurl4)",
                                                file, dl_error())};
  }
  const char* missing = nullptr;
  const auto find = [&]<class Function>(const char* name, Function& function) {
    function = reinterpret_cast<Function>(::dlsym(handle, name));
    if (function == nullptr) missing = name;
  };
  CurlLibrary curl{};
  decltype(&curl_global_init) global_init = nullptr;
  find("curl_global_init", global_init);
  find("curl_easy_init", curl.easy_init);
  find("curl_easy_cleanup", curl.easy_cleanup);
  find("curl_easy_setopt", curl.easy_setopt);
  find("curl_easy_getinfo", curl.easy_getinfo);
  find("curl_easy_strerror", curl.easy_strerror);
  find("curl_slist_append", curl.slist_append);
  find("curl_slist_free_all", curl.slist_free_all);
  find("curl_multi_init", curl.multi_init);
  find("curl_multi_cleanup", curl.multi_cleanup);
  find("curl_multi_add_handle", curl.multi_add_handle);
  find("curl_multi_remove_handle", curl.multi_remove_handle);
  find("curl_multi_perform", curl.multi_perform);
  find("curl_multi_poll", curl.multi_poll);
  find("curl_multi_wakeup", curl.multi_wakeup);
  find("curl_multi_info_read", curl.multi_info_read);
  find("curl_multi_setopt", curl.multi_setopt);
  if (missing != nullptr) {
    ::dlclose(handle);
    return Error{
        Code::unsupported,
        fmt::format("cannot use {}: it has no {} (install libcurl 7.68 or later)", file, missing)};
  }
  if (const CURLcode code = global_init(CURL_GLOBAL_DEFAULT); code != CURLE_OK) {
    return Error{Code::io, fmt::format("cannot use {}: {}", file, curl.easy_strerror(code))};
  }
  return curl;
}

Result<const CurlLibrary*> curl_library() {
  static const Result<CurlLibrary> library = load_curl_library(kCurlFile);
  if (!library) return library.error();
  return &*library;
}

}  // namespace mayfly
