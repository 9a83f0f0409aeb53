// SPDX-License-Identifier: Apache-2.0
// Undoes a power cut in a store of format version 1, for the last time: what comes after it is
// version 2, which has no undo log.
//
// Version 1 at the level `normal` changed its file without syncs. It first copied each page that it
// was going to overwrite, and that belonged to the last synced state (the recovery point), into
// `path-undo`. If the machine stopped, putting these pages back restores the recovery point. If
// only the process died, the page cache has all that was committed, and nothing is undone.
//
//   0      control            what live processes told each other; of no use after a reboot
//   4 Ki   header, slot 0     of the even generations: the recovery point, one sector, checksummed
//   8 Ki   header, slot 1     of the odd generations
//   16 Ki  two areas          of batches, in turns of 1 MiB: even, odd, even, odd, ...
//
// A generation is a recovery point with the batches that lead back to it. A batch is
// [head: magic, generation, sequence, count, checksum][page numbers][page images], padded to 4 KiB.
// Batches are numbered without a gap. Those of generation g stand in area g & 1, from where its
// header says. While generation g+1 was being made, batches went to the other area, and lead back
// to both points.

#pragma once

#include <string>

#include "mayfly/result.h"

namespace mayfly::internal {

// Makes the store at `path` whole and durable, and removes `path-undo`. Without a log there is
// nothing to do. It can be interrupted and begun again at any point. To be called before
// mdb_env_open, as the only process that has the store open or can open it.
//
// Code::corrupt: the undo log is damaged. Code::io: a sync failed since the machine was started, so
// that the store can be trusted only after a restart. Both leave the undo log as it is.
Status recover_version_1(const std::string& path);

// Whether a power cut must be undone before the store can be read. For those that cannot write.
Result<bool> needs_version_1_recovery(const std::string& path);

}  // namespace mayfly::internal
