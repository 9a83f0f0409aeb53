// SPDX-License-Identifier: Apache-2.0
// A step of a benchmark that fails ends it: there is nothing left to measure. main() prints why,
// after the servers are stopped and the files are removed.
//
//   RespClient client = must(RespClient::connect(port));
//   must(client.send());

#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include "mayfly/result.h"

namespace mayfly::bench {

struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

template <class T>
T must(Result<T> result) {
  if (!result) throw Failure(result.error().message);
  return *std::move(result);
}

}  // namespace mayfly::bench
