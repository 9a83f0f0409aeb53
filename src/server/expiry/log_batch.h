// SPDX-License-Identifier: Apache-2.0
// LogBatch: the entries of a sweep as one request, which adds them to the log of a replica and
// removes the keys and members that they are about.
//
//   XEXPIRED __expired__ 1700000000000-0 <a block of a stream: stream_block.h>
//
// Nothing is encoded for it: the bytes of entries are copied from the stream, whose block gives the
// first id and the fields, too.

#pragma once

#include <cstddef>
#include <string>

#include "keyspace/stream/stream.h"

namespace mayfly {

class LogBatch {
 public:
  bool is_empty() const { return count_ == 0; }
  int database() const { return database_; }

  // Whether the next entry, which is here, goes into the same request.
  bool takes(int database, const Stream::Place& place) const;

  // REQUIRES: it takes it, or is empty.
  void add(int database, const Stream::Place& place);

  struct Request {
    std::string first_id;
    std::string_view block;  // valid until the next add()
  };
  Request take();  // it is empty then

 private:
  int database_ = 0;
  StreamId first_;  // of the block
  std::size_t count_ = 0;
  std::string block_;
};

}  // namespace mayfly
