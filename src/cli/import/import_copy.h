// SPDX-License-Identifier: Apache-2.0
// The work of `mayfly import` and `mayfly export`: from a source into a target, batch by batch, so
// that it can be interrupted at any moment and go on later.
//
//   run_copy(*source, *target, plan, stop)
//
// After a batch that the target has for certain, the place in the source is written to the state
// file, a few times a second at most. A copy that ends before its time, be it by Ctrl-C, kill -9 or
// a lost server, goes on from that place when the same command is given again; what was written
// since is written once more, which changes nothing, since keys are replaced as a whole.
//
// It goes on only if that gives all of it. With other options it would not, and is refused. If the
// source or the target is not what it was, it begins anew and says why.

#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/import/import_item.h"
#include "cli/program.h"
#include "mayfly/result.h"
#include "tools/terminal/stop_signals.h"

namespace mayfly {

class CopySource {
 public:
  virtual ~CopySource() = default;

  virtual std::string name() const = 0;  // "redis://127.0.0.1:6379/0", "app.db"
  virtual Result<double> total() = 0;    // about how many keys or entries it will show

  // What it is, on one line; and why places that were good for what had that identity mean nothing
  // any more, as the end of a sentence. Empty: they do.
  virtual std::string identity() const = 0;
  virtual std::string change_since(std::string_view identity) const = 0;

  // The next keys, none too. What it shows and cannot give is counted.
  virtual Result<std::vector<CopyItem>> read(CopyCounts& counts) = 0;

  // Where the next read() begins, unless it is in the middle of a batch, where it has no place.
  virtual std::string place() const = 0;
  virtual bool is_in_batch() const = 0;
  virtual Status go_to(std::string_view place) = 0;
  virtual bool is_at_end() const = 0;
};

class CopyTarget {
 public:
  virtual ~CopyTarget() = default;

  virtual std::string name() const = 0;

  // What it is and has, on one line; and why what was written before it had that mark may not be
  // there any more, as the end of a sentence. Empty: it is.
  virtual Result<std::string> mark() = 0;
  virtual Result<std::string> loss_since(std::string_view mark) = 0;

  virtual Status write(std::vector<CopyItem>& items, CopyCounts& counts) = 0;

  // Returns when all that was written would survive a power cut, as far as the target promises it.
  virtual Status settle() = 0;
};

// Takes out the members that are due. Returns whether anything of the item is left.
bool drop_due(CopyItem& item, Time now);

struct CopyPlan {
  std::string match;   // empty: all
  std::string family;  // as --cf says it; empty: there is no store in it
  std::string state_path;
  bool keeps = false;             // --if-absent
  bool drops_field_ttls = false;  // deadlines of fields may be given up
  bool is_strict = false;         // what cannot be copied is an error
  bool must_resume = false;
  bool is_restart = false;
  bool is_json = false;
};

// REQUIRES: `stop` was made before the source and the target.
Result<Exit> run_copy(CopySource& source, CopyTarget& target, const CopyPlan& plan,
                      StopSignals& stop);

}  // namespace mayfly
