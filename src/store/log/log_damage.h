// SPDX-License-Identifier: Apache-2.0
// For tests that damage a log of the smallest segments: makes its checksums and chains right again,
// so that what it says is believed.

#pragma once

#include <xxhash.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "store/log/log_file.h"
#include "store/log/record.h"

namespace mayfly::internal {

constexpr std::size_t kUsedHeader = 80;  // with the checksum in its last 8 bytes
constexpr std::size_t kSegmentHeader = LogFile::kSegmentHeaderBytes;
constexpr std::size_t kSegment = LogFile::kSegmentBytesMin;
constexpr std::size_t kChain = 24;  // in a record

template <class T>
T value_at(std::string_view bytes, std::size_t at) {
  T value{};
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

inline void set_at(std::string& bytes, std::size_t at, std::uint64_t value) {
  std::memcpy(&bytes[at], &value, sizeof value);
}

// `record` without its padding.
inline std::uint64_t right_chain(std::string_view record, std::uint64_t before) {
  const std::string header =
      std::string(record.substr(0, kChain)) +
      std::string(record.substr(kChain + 8, kRecordHeaderBytes - kChain - 8));
  const std::uint64_t seed = XXH3_64bits_withSeed(header.data(), header.size(), before);
  return XXH3_64bits_withSeed(record.data() + kRecordHeaderBytes,
                              record.size() - kRecordHeaderBytes, seed);
}

inline void sign_header(std::string& file, std::size_t at, std::size_t size) {
  set_at(file, at + size - 8, XXH3_64bits(&file[at], size - 8));
}

// Makes the chains of a segment right, from its header on. Returns the last.
inline std::uint64_t sign_records(std::string& file, std::size_t segment) {
  std::uint64_t chain = value_at<std::uint64_t>(file, segment + 24);
  for (std::size_t at = segment + kSegmentHeader; at + kRecordHeaderBytes <= segment + kSegment;) {
    const std::size_t length = value_at<std::uint32_t>(file, at);
    if (length < kRecordHeaderBytes || at + length > segment + kSegment) break;
    chain = right_chain(std::string_view(file).substr(at, length), chain);
    set_at(file, at + kChain, chain);
    at += (length + 7) / 8 * 8;
  }
  return chain;
}

inline void sign_headers(std::string& file) {
  sign_header(file, 0, kUsedHeader);
  for (const std::size_t segment : {LogFile::kHeaderBytes, LogFile::kHeaderBytes + kSegment}) {
    sign_header(file, segment, kSegmentHeader);
  }
}

}  // namespace mayfly::internal
