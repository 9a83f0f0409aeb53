// SPDX-License-Identifier: Apache-2.0
#include "mayfly/result.h"

#include <cstdio>
#include <cstdlib>

namespace mayfly::internal {

void abort_on(const Error& error) noexcept {
  std::fprintf(stderr, "mayfly: the value of a failed Result was taken: %s\n",
               error.message.c_str());
  std::abort();
}

}  // namespace mayfly::internal
