// SPDX-License-Identifier: Apache-2.0
// Files that a server writes for its operator: the log and the pid file.

#pragma once

#include <cstdio>
#include <string>

namespace mayfly {

enum class TextFile {
  log,  // appended to; 0640
  pid,  // replaced; 0600
};

// Null on failure, with the reason in errno. A new file gets these permissions; an existing file
// keeps its own. A symbolic link is not followed, unless root or this user has made it (/dev/stdout
// is one): in a folder that others may write, it could lead to any file.
std::FILE* open_text_file(const std::string& path, TextFile kind);

// The same as a descriptor; -1 on failure. A signal handler may call it.
int open_text_descriptor(const char* path, TextFile kind);

}  // namespace mayfly
