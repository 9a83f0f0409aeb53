// SPDX-License-Identifier: Apache-2.0
// InputBuffer: the bytes that a connection has received and its peer has not consumed yet, in one
// piece.
//
//   scratch        [ read here | ............. ]      one for all connections of a loop
//   own memory     [ consumed | view() | room ]       only while something is left over
//
// Bytes are read into a scratch that all connections share. Most of the time the peer consumes all
// of them at once and the connection owns no memory at all. What it leaves is copied into memory of
// its own, and back in front of the next bytes if it is short (kShortMax). If it is long, the next
// bytes are read behind it. Memory is given back as soon as there is nothing in it.
//
// want(n) says that the peer can do nothing before it has n bytes. Memory grows towards them by
// doubling and stops there, so that a client that announces 512 MiB and sends 10 bytes does not get
// 512 MiB.
//
// Threads: that of its loop.

#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

namespace mayfly {

class InputBuffer {
 public:
  static constexpr std::size_t kShortMax = 16 * 1024;

  InputBuffer() = default;
  InputBuffer(const InputBuffer&) = delete;
  InputBuffer& operator=(const InputBuffer&) = delete;

  // For the peer.

  std::string_view view() const { return {begin_, size_}; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  // Drops the first `bytes`. The view that is left stays where it is.
  // REQUIRES: bytes <= size().
  void consume(std::size_t bytes);

  // Nothing can be done before there are `bytes` in all. Holds until they are there.
  void want(std::size_t bytes) { wanted_ = bytes; }

  // The memory that this connection owns, which is more than what is in it.
  std::size_t capacity() const { return capacity_; }

  // For the transport.

  // Where the next bytes go: in `scratch`, or in own memory behind what is left over.
  std::span<char> room(std::span<char> scratch);

  // `bytes` were written to the begin of room().
  void added(std::size_t bytes);

  // The scratch is about to be used by others: copies the rest out of it, or frees the own memory
  // if there is no rest.
  void keep_rest();

 private:
  struct Free {
    void operator()(char* memory) const;
  };

  void grow(std::size_t capacity);
  std::size_t own_room() const;  // behind what is in own memory

  char* begin_ = nullptr;  // of what is not consumed; in own_, or in the scratch until keep_rest()
  std::size_t size_ = 0;
  std::size_t wanted_ = 0;
  std::unique_ptr<char[], Free> own_;
  std::size_t capacity_ = 0;  // of own_
  bool in_own_ = false;       // where begin_ points to
};

}  // namespace mayfly
