// SPDX-License-Identifier: Apache-2.0
// Fuzzes the page check. Inputs are small LMDB files.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "store/check/page_check.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto file = std::as_bytes(std::span(data, size));
  const auto facts = mayfly::internal::read_meta(file);
  const mayfly::internal::PageCheck newest = mayfly::internal::check_pages(file, 0);
  if (newest.problems.size() > mayfly::internal::kPageProblemsMax) std::abort();
  if (!facts && newest.problems.empty()) std::abort();
  if (facts && facts->txnid > 1) (void)mayfly::internal::check_pages(file, facts->txnid - 1);
  return 0;
}
