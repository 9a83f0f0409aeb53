// SPDX-License-Identifier: Apache-2.0
// libcurl, loaded when it is first needed: a server without a cluster runs without it.

#pragma once

#include <curl/curl.h>

#include "mayfly/result.h"

namespace mayfly {

// Its functions by their own names. Those that take `...` want a long where libcurl's manual says
// long: nothing checks it.
struct CurlLibrary {
  decltype(&curl_easy_init) easy_init;
  decltype(&curl_easy_cleanup) easy_cleanup;
  decltype(&curl_easy_setopt) easy_setopt;
  decltype(&curl_easy_getinfo) easy_getinfo;
  decltype(&curl_easy_strerror) easy_strerror;
  decltype(&curl_slist_append) slist_append;
  decltype(&curl_slist_free_all) slist_free_all;
  decltype(&curl_multi_init) multi_init;
  decltype(&curl_multi_cleanup) multi_cleanup;
  decltype(&curl_multi_add_handle) multi_add_handle;
  decltype(&curl_multi_remove_handle) multi_remove_handle;
  decltype(&curl_multi_perform) multi_perform;
  decltype(&curl_multi_poll) multi_poll;
  decltype(&curl_multi_wakeup) multi_wakeup;  // libcurl 7.68
  decltype(&curl_multi_info_read) multi_info_read;
  decltype(&curl_multi_setopt) multi_setopt;
};

// Loads it at the first call, and keeps it. Any thread may call this. Code::unsupported if the
// machine has no libcurl, or one that is too old.
Result<const CurlLibrary*> curl_library();

// The same with a library of another name, for tests. Each call loads it anew.
Result<CurlLibrary> load_curl_library(const char* file);

}  // namespace mayfly
