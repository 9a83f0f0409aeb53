// SPDX-License-Identifier: Apache-2.0
// Cache with a freshness window: a page that is dear to render is good for a minute.
//
// A page is an entry with a TTL, so the cache never returns an older one. A caller that finds none
// renders it: once, however many threads ask. From 45 seconds on (`refresh_after`) one caller
// renders it anew while the others still get the old one, so that nobody waits at the deadline.
// What nobody asks for any more is removed on time by a thread of the cache's own.

#include <atomic>
#include <future>
#include <iostream>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include "mayfly/sharded_cache.h"

using namespace std::chrono_literals;

namespace {

using Pages = mayfly::ShardedCache<std::string, std::string>;

// Eight threads ask for a page that is not there. One of them renders it.
int renderings_for_eight(Pages& pages) {
  std::atomic<int> renderings = 0;
  const auto render = [&](const std::string& path) {
    ++renderings;
    return path + ", first edition";
  };
  std::vector<std::jthread> threads;
  threads.reserve(8);
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] { pages.get_or_load("/index", render); });
  }
  threads.clear();  // waits for them
  return renderings;
}

// What one caller gets while another is rendering the same page anew.
std::string read_during_refresh(Pages& pages) {
  std::string seen;
  pages.get_or_load("/index", [&](const std::string& path) {
    const auto other_caller = [&] {
      return pages.get_or_load("/index", [](const auto&) { return std::string("not called"); });
    };
    seen = std::async(std::launch::async, other_caller).get();
    return path + ", second edition";
  });
  return seen;
}

}  // namespace

int main() {
  mayfly::ManualClock clock;
  std::latch swept(1);
  Pages pages(clock, {.default_expiry = mayfly::Expiry(60s).refresh_after(45s),
                      .listener =
                          [&](auto& removal) {
                            std::cout << "  " << to_string(removal.cause) << ": " << removal.value
                                      << '\n';
                            if (removal.cause == mayfly::Cause::expired) swept.count_down();
                          },
                      .cleanup = mayfly::Cleanup::active});

  const int renderings = renderings_for_eight(pages);
  std::cout << "eight threads asked, rendered " << renderings << " time(s)\n";

  clock.advance(50s);  // past refresh_after, before the deadline
  const std::string seen = read_during_refresh(pages);
  const std::string fresh = pages.get("/index").value_or("nothing");
  std::cout << "during the refresh: " << seen << "\nafter it: " << fresh << '\n';

  clock.advance(60s);  // nobody reads any more; the cache's thread wakes and sweeps
  swept.wait();
  const mayfly::CacheStats stats = pages.stats();
  std::cout << "stored: " << pages.stored() << ", loads: " << stats.loads << '\n';

  const bool is_right = renderings == 1 && seen == "/index, first edition" &&
                        fresh == "/index, second edition" && pages.stored() == 0 &&
                        stats.loads == 2 && stats.replaced == 1 && stats.expired == 1;
  return is_right ? 0 : 1;
}
