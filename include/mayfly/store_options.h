// SPDX-License-Identifier: Apache-2.0
// How a store is opened, and the limits of what it holds.

#pragma once

#include <cstddef>
#include <cstdint>

#include "mayfly/time.h"

namespace mayfly {

// What a commit promises when it returns. Whatever the level, a commit is atomic, and a crash or a
// kill of the process loses nothing that was committed.
enum class Durability {
  off,     // A power cut may undo the commits since the last checkpoint, never half of one.
  normal,  // A power cut may undo the commits of the last moments (see sync_interval), never half
           // of one.
  full,    // A power cut loses nothing: each commit waits for the disk. Those of several threads
           // and processes wait together.
};

struct StoreOptions {
  Durability durability = Durability::normal;

  // How long a writer waits for another one, in this process or elsewhere, before it gets
  // Code::busy. Zero: not at all. Readers never wait. Opening waits as long, but at least a second,
  // while another process has the store for itself, to recover, compact or close it.
  Millis busy_timeout{5000};

  // Nothing is ever written: not what has expired either. The file must exist.
  bool read_only = false;

  // Whether a file that is not there is made.
  bool create = true;

  // The most that the file may grow to. Address space is reserved for it at once, disk is not.
  // Zero: as much as the disk has, less if there is not enough address space.
  std::uint64_t map_bytes = 0;

  // The most entries that a purge removes in one transaction. Between two of them others can write.
  std::size_t purge_batch = 256;

  // The size of each of the two segments of the redo log. When one is full, what it has goes into
  // the tree in one checkpoint; so a larger one means fewer writes, more memory, and a longer
  // replay when the store is opened after a crash. From 64 KiB to 1 GiB.
  std::uint64_t log_segment_bytes = std::uint64_t{32} << 20;

  // At Durability::normal: how old the commits that a power cut may undo can get.
  Millis sync_interval{1000};
};

inline constexpr std::uint64_t kLogSegmentBytesMin = std::uint64_t{64} << 10;
inline constexpr std::uint64_t kLogSegmentBytesMax = std::uint64_t{1} << 30;
inline constexpr std::size_t kStoreKeyMax = 65'536;                  // bytes; at least 1
inline constexpr std::size_t kStoreValueMax = std::size_t{1} << 30;  // 1 GiB
inline constexpr std::size_t kFamilyNameMax = 255;                   // bytes; at least 1
inline constexpr std::size_t kFamiliesMax = 256;                     // with the default one

}  // namespace mayfly
