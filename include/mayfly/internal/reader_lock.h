// SPDX-License-Identifier: Apache-2.0
// ReaderLock: a mutex that readers on different processors pass without touching the same memory.
//
//   cpu 0   | hits, 48 bits | readers, 16 |   a cache line each: a reader only writes its own
//   cpu 1   | hits          | readers     |
//   ...
//   writer  | mutex | is_writing |            read by readers, written by writers only
//
// A plain mutex around a short look-up is slow with many threads even when they hardly ever meet,
// because its cache line travels from processor to processor with every call. Here a reader notes
// itself in the line of the processor it runs on and looks whether somebody writes; if so, it steps
// back and takes the mutex like a writer. A writer takes the mutex, says that it writes, and waits
// until all lines are free of readers, which takes a look at each.
//
// The readers' lines also count hits and misses, since leaving writes to them anyway.
//
//   read    two additions to a word of one's own
//   write   a mutex, and a look at one line a processor
//   memory  64 bytes a processor (64 of them at the most)

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

namespace mayfly::internal {

class ReaderLock {
 public:
  ReaderLock();

  // For std::unique_lock: excludes readers and writers.
  void lock();
  void unlock();

  // Calls `read()` with writers excluded, and returns whether that was done and `read` returned
  // true: a hit, which is counted. False means that the caller has to take the lock. `read` may
  // throw.
  template <class Read>
  bool try_read(Read read) {
    Stay stay(lines_[processor() & mask_]);
    stay.is_hit = !is_writing_.load() && read();
    return stay.is_hit;
  }

  // What a look brought. Hits and misses are counted; `retry` sends the caller to the lock.
  enum class Look { hit, miss, uncounted, retry };

  // Calls `look()`, which returns a Look, with writers excluded. False: that was not possible, or
  // it returned `retry`, and the caller has to take the lock. `look` may throw.
  template <class Read>
  bool try_look(Read look) {
    Stay stay(lines_[processor() & mask_]);
    if (is_writing_.load()) return false;
    const Look found = look();
    stay.is_hit = found == Look::hit;
    if (found == Look::miss) stay.line.misses.fetch_add(1, std::memory_order_relaxed);
    return found != Look::retry;
  }

  // How often try_read returned true, or try_look found a hit; and how often that found a miss.
  std::uint64_t hits() const;
  std::uint64_t misses() const;

 private:
  static constexpr std::uint64_t kReader = 1;
  static constexpr std::uint64_t kHit = std::uint64_t{1} << 16;

  struct alignas(64) Line {
    std::atomic<std::uint64_t> word{0};
    std::atomic<std::uint64_t> misses{0};
  };

  // A reader's note in a line, from its beginning to its end.
  struct Stay {
    explicit Stay(Line& of) : line(of) { line.word.fetch_add(kReader); }
    ~Stay() { line.word.fetch_add(is_hit ? kHit - kReader : -kReader, std::memory_order_release); }
    Stay(const Stay&) = delete;

    Line& line;
    bool is_hit = false;
  };

  static unsigned processor();

  const std::size_t mask_;
  const std::unique_ptr<Line[]> lines_;
  std::mutex mutex_;
  std::atomic<bool> is_writing_{false};
};

}  // namespace mayfly::internal
