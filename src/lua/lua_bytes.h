// SPDX-License-Identifier: Apache-2.0
// LuaBytes: bytes that grow in the memory of Lua, so that its limit holds for them too.
//
//   LuaBytes out(lua);
//   out.append("...");
//   out.push();
//
// If there is no memory, append() raises an error of Lua. The destructor runs then as well. All
// that is appended or pushed counts as work (LuaWork), so the hook may also raise one.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string_view>

#include "lua/lua_api.h"
#include "lua/lua_work.h"

namespace mayfly {

class LuaBytes {
 public:
  explicit LuaBytes(lua_State* lua)
      : lua_(lua), allocate_(lua_getallocf(lua, &memory_)), work_(LuaWork::of(lua)) {}
  LuaBytes(const LuaBytes&) = delete;
  LuaBytes& operator=(const LuaBytes&) = delete;
  ~LuaBytes() {
    if (data_ != nullptr) allocate_(memory_, data_, capacity_, 0);
  }

  std::size_t size() const { return size_; }
  std::string_view view() const { return {data_, size_}; }
  void clear() { size_ = 0; }

  void append(char byte) {
    if (size_ == capacity_) grow(1);
    data_[size_++] = byte;
    work_.count(lua_);
  }
  void append(std::string_view bytes) {
    if (bytes.empty()) return;
    reserve(bytes.size());
    work_.in_pieces(lua_, bytes.size(), [&](std::size_t begin, std::size_t some) {
      std::memcpy(data_ + size_, bytes.data() + begin, some);
      size_ += some;
    });
  }
  void append(std::size_t count, char byte) {
    if (count == 0) return;
    reserve(count);
    work_.in_pieces(lua_, count, [&](std::size_t, std::size_t some) {
      std::memset(data_ + size_, byte, some);
      size_ += some;
    });
  }

  // So that this many bytes more need no more memory.
  void reserve(std::size_t more) {
    if (more > capacity_ - size_) grow(more);
  }

  // Pushes them as a string.
  void push() const {
    work_.count_copy(lua_, size_);
    lua_pushlstring(lua_, data_ == nullptr ? "" : data_, size_);
  }

 private:
  void grow(std::size_t more) {
    constexpr std::size_t kLeast = 256;
    // Odd, so that it is not taken for the fields of a table (LuaState::is_large_table).
    std::size_t wanted = std::max({size_ + more, 2 * capacity_, kLeast}) | 1;
    void* moved = allocate_(memory_, data_, capacity_, wanted);
    if (moved == nullptr && more >= capacity_ / 8) {  // a small one would soon want more again
      wanted = (size_ + more) | 1;
      moved = allocate_(memory_, data_, capacity_, wanted);
    }
    if (moved == nullptr) {
      luaL_error(lua_, "not enough memory");
      return;
    }
    data_ = static_cast<char*>(moved);
    capacity_ = wanted;
  }

  lua_State* lua_;
  void* memory_ = nullptr;
  lua_Alloc allocate_;
  LuaWork& work_;
  char* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace mayfly
