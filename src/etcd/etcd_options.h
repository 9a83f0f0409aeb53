// SPDX-License-Identifier: Apache-2.0
// EtcdOptions: where etcd is, and how it is spoken to.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "mayfly/result.h"
#include "mayfly/time.h"

namespace mayfly {

struct EtcdOptions {
  std::vector<std::string> endpoints = {};  // "http://10.0.0.1:2379": of one or more members
  std::string prefix = {};                  // "/mayfly/NAME/"

  std::string user = {};  // empty: etcd has no authentication
  std::string password = {};

  // Files in PEM form, for https. Without `ca` the system's own authorities are trusted.
  std::string ca = {};
  std::string cert = {};  // of this client; needs `key`
  std::string key = {};

  // One attempt; after it, the next endpoint is asked the same. A member of etcd that has lost its
  // leader would keep a request for 7 s and then lose it.
  Millis call_timeout{500};
  Millis give_up_after{2000};  // all attempts of one question together
  Millis retry_pause{100};     // before an endpoint is asked a second time

  Millis watch_silence{30000};  // a watch that hears nothing for so long is made anew
  Millis watch_pause_min{100};  // before a broken watch is made anew: twice as long each time
  Millis watch_pause_max{1000};

  Millis lease{15000};     // how long an announced record outlives its process
  Millis keepalive{5000};  // how often that lease is renewed
  Millis goodbye{200};     // how long the end of the register may take to revoke it
};

// The prefix of the cluster of that name.
inline std::string etcd_prefix(std::string_view cluster) {
  return std::string("/mayfly/").append(cluster).append("/");
}

// "http://a:2379,http://b:2379" as a list. Spaces and a '/' at the end do not matter.
Result<std::vector<std::string>> parse_etcd_endpoints(std::string_view list);

// What is wrong with them, if anything is. Endpoints are as parse_etcd_endpoints gives them.
Status check(const EtcdOptions& options);

}  // namespace mayfly
