// SPDX-License-Identifier: Apache-2.0
// Copies keys from a source to a target in batches: `mayfly import` and `mayfly export`. A copy can
// be interrupted at any moment and resumed.
//
//   run_copy(*source, *target, plan, stop)
//
// When the target has stored a batch, the place in the source is written to the state file, at most
// a few times a second. After Ctrl-C, kill -9 or a lost connection the same command resumes at that
// place. Keys copied since are copied again, which is harmless: keys are replaced as a whole.
//
// Resuming with other options is refused. If the source or the target has changed, the copy starts
// over and says why.

#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/import/import_item.h"
#include "cli/program.h"
#include "mayfly/result.h"
#include "tools/terminal/terminal.h"

namespace mayfly {

class CopySource {
 public:
  virtual ~CopySource() = default;

  virtual std::string name() const = 0;  // "redis://127.0.0.1:6379/0", "app.db"
  virtual Result<double> total() = 0;    // approximate number of keys or entries

  // Its mark (import_marks.h) on one line; and what has changed since that mark, so that its places
  // are invalid, as the end of a sentence. Empty: nothing.
  virtual std::string identity() const = 0;
  virtual std::string change_since(std::string_view identity) const = 0;

  // The next keys, possibly none. Keys that cannot be copied are counted.
  virtual Result<std::vector<CopyItem>> read(CopyCounts& counts) = 0;

  // Where the next read() starts. In the middle of a batch it has no place.
  virtual std::string place() const = 0;
  virtual bool is_in_batch() const = 0;
  virtual Status go_to(std::string_view place) = 0;
  virtual bool is_at_end() const = 0;
};

class CopyTarget {
 public:
  virtual ~CopyTarget() = default;

  virtual std::string name() const = 0;

  // Its mark on one line; and why data written before that mark may be lost, as the end of a
  // sentence. Empty: it is not.
  virtual Result<std::string> mark() = 0;
  virtual Result<std::string> loss_since(std::string_view mark) = 0;

  virtual Status write(std::vector<CopyItem>& items, CopyCounts& counts) = 0;

  // Makes everything written durable, as far as the target can.
  virtual Status sync() = 0;
};

// Removes expired members. Returns whether anything of the item is left.
bool drop_due(CopyItem& item, Time now);

struct CopyPlan {
  std::string match;   // empty: all
  std::string family;  // the value of --cf; empty: from server to server
  std::string state_path;
  bool keeps = false;              // --if-absent
  bool drops_member_ttls = false;  // member TTLs may be dropped
  bool is_strict = false;          // a key that cannot be copied is an error
  bool must_resume = false;
  bool is_restart = false;
  bool is_json = false;
  std::vector<std::string> left_out;  // of the source, for the summary
};

// REQUIRES: `stop` was created before the source and the target.
Result<Exit> run_copy(CopySource& source, CopyTarget& target, const CopyPlan& plan,
                      StopSignals& stop);

}  // namespace mayfly
