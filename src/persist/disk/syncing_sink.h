// SPDX-License-Identifier: Apache-2.0
// SyncingSink: passes bytes on to a file and syncs it now and then, so that the last sync is short
// and does not hold up the disk for others.

#pragma once

#include <cstdint>
#include <string_view>

#include "mayfly/result.h"
#include "persist/disk/byte_sink.h"
#include "persist/disk/disk.h"

namespace mayfly {

class SyncingSink final : public ByteSink {
 public:
  // The file must outlive it. 0 means never.
  SyncingSink(DiskFile& file, std::uint64_t every_bytes) : file_(file), every_(every_bytes) {}

  Status write(std::string_view bytes) override {
    if (Status status = file_.write(bytes); !status) return status;
    unsynced_ += bytes.size();
    if (every_ == 0 || unsynced_ < every_) return Done{};
    unsynced_ = 0;
    return file_.sync();
  }

 private:
  DiskFile& file_;
  const std::uint64_t every_;
  std::uint64_t unsynced_ = 0;
};

}  // namespace mayfly
