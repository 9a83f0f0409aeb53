// SPDX-License-Identifier: Apache-2.0
// Numbers of the allocator. Its functions are weak symbols: null if the allocator is another one.

#include "server/monitoring/memory.h"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string_view>

extern "C" {
[[gnu::weak]] int mallctl(const char* name, void* old, std::size_t* old_size, void* value,
                          std::size_t value_size);
[[gnu::weak]] void malloc_stats_print(void (*write)(void*, const char*), void* opaque,
                                      const char* options);
[[gnu::weak]] std::size_t __sanitizer_get_current_allocated_bytes();
}

namespace mayfly {
namespace {

// The counters of a thread in jemalloc; their addresses are fixed as long as the thread lives.
struct ThreadCounters {
  const std::uint64_t* allocated = nullptr;
  const std::uint64_t* freed = nullptr;
};

template <class T>
T ask_jemalloc(const char* name, T otherwise) {
  std::size_t size = sizeof(T);
  T value = otherwise;
  return mallctl(name, &value, &size, nullptr, 0) == 0 ? value : otherwise;
}

ThreadCounters thread_counters() {
  static constexpr std::uint64_t* kNone = nullptr;
  return {ask_jemalloc("thread.allocatedp", kNone), ask_jemalloc("thread.deallocatedp", kNone)};
}

bool is_jemalloc() { return mallctl != nullptr; }
bool is_sanitizer() { return __sanitizer_get_current_allocated_bytes != nullptr; }

std::size_t page_bytes() { return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); }

std::size_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::size_t total = 0;
  std::size_t resident = 0;
  statm >> total >> resident;
  return resident * page_bytes();
}

std::size_t jemalloc_used() {
  static thread_local const ThreadCounters counters = thread_counters();
  if (counters.allocated == nullptr || counters.freed == nullptr) return 0;
  const std::uint64_t allocated = *counters.allocated;
  const std::uint64_t freed = *counters.freed;
  return allocated > freed ? allocated - freed : 0;
}

// jemalloc's numbers are those at the last `epoch`.
void fill_from_jemalloc(MemoryNumbers& numbers) {
  std::uint64_t epoch = 1;
  mallctl("epoch", nullptr, nullptr, &epoch, sizeof(epoch));
  numbers.allocated = ask_jemalloc("stats.allocated", numbers.used);
  numbers.active = ask_jemalloc("stats.active", numbers.allocated);
  numbers.resident = ask_jemalloc("stats.resident", numbers.active);
  static constexpr const char* kUnknown = "?";
  const std::string_view version = ask_jemalloc("version", kUnknown);
  numbers.allocator = "jemalloc-";
  numbers.allocator += version.substr(0, version.find('-'));
}

}  // namespace

std::size_t used_memory() {
  if (is_jemalloc()) return jemalloc_used();
  if (is_sanitizer()) return __sanitizer_get_current_allocated_bytes();
  const struct mallinfo2 info = ::mallinfo2();
  return info.uordblks + info.hblkhd;
}

// jemalloc has sizes in steps of 16 up to 128, and then four for each power of two.
std::size_t allocated_for(std::size_t bytes) {
  if (bytes == 0) return 0;
  if (is_sanitizer()) return bytes;
  if (!is_jemalloc()) return std::max<std::size_t>((bytes + 8 + 15) / 16 * 16, 32);
  if (bytes <= 8) return 8;
  const std::size_t step = bytes <= 128 ? 16 : std::bit_floor(bytes - 1) / 4;
  return (bytes + step - 1) / step * step;
}

MemoryNumbers memory_numbers() {
  MemoryNumbers numbers;
  numbers.used = used_memory();
  numbers.rss = resident_bytes();
  numbers.system = static_cast<std::size_t>(::sysconf(_SC_PHYS_PAGES)) * page_bytes();
  if (is_jemalloc()) {
    fill_from_jemalloc(numbers);
    return numbers;
  }
  numbers.allocator = is_sanitizer() ? "sanitizer" : "libc";
  numbers.allocated = numbers.used;
  const struct mallinfo2 info = ::mallinfo2();
  const std::size_t held = is_sanitizer() ? numbers.used : info.arena + info.hblkhd;
  numbers.active = held;
  numbers.resident = held;
  return numbers;
}

void purge_memory() {
  if (is_jemalloc()) {
    mallctl("arena.4096.purge", nullptr, nullptr, nullptr, 0);  // 4096: all arenas
  } else if (!is_sanitizer()) {
    ::malloc_trim(0);
  }
}

std::string allocator_report() {
  std::string report;
  if (is_jemalloc() && malloc_stats_print != nullptr) {
    const auto append = [](void* text, const char* part) {
      *static_cast<std::string*>(text) += part;
    };
    malloc_stats_print(append, &report, nullptr);
    return report;
  }
  if (is_sanitizer()) return "The sanitizer's allocator has no statistics";

  char* text = nullptr;
  std::size_t size = 0;
  std::FILE* const out = ::open_memstream(&text, &size);
  if (out == nullptr) return report;
  ::malloc_info(0, out);
  std::fclose(out);
  report.assign(text, size);
  std::free(text);
  return report;
}

}  // namespace mayfly
