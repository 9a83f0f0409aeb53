// SPDX-License-Identifier: Apache-2.0
// The environments that this process has open, each once, however many handles and paths lead to
// it.
//
// This is the one place in Mayfly with state of the whole process, because LMDB has it there: to
// open a file twice in one process would break its locks. The child of a fork begins with none: it
// must not touch what its parent has open.
//
// Threads: a file that is being opened or closed, which may take long, keeps nobody from opening or
// closing another one.

#pragma once

#include <string>

#include "mayfly/result.h"
#include "mayfly/store_options.h"
#include "store/lmdb/environment.h"

namespace mayfly {

// The environment of the file at `path`, which is opened, or made, if no handle has it yet. Each
// success is to be followed by one release(). Code::busy if another process, or a thread of this
// one, does not end opening it within options.busy_timeout (or Session::kLeastWait, if that is
// longer).
Result<Environment*> acquire_environment(const std::string& path, const StoreOptions& options);

// Closes the environment when its last handle is gone, and tells whether that went well.
Status release_environment(Environment* environment);

}  // namespace mayfly
