// SPDX-License-Identifier: Apache-2.0
#include "cli/store_answers.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "cli/ttl_words.h"

namespace mayfly {

bool Lines::write() {
  if (failure_ != 0) return false;
  errno = 0;
  const bool written = std::fwrite(text_.data(), 1, text_.size(), stdout) == text_.size();
  text_.clear();
  if (!written) failure_ = errno != 0 ? errno : EIO;
  return written;
}

Status Lines::finish() {
  write();
  if (failure_ == 0 && std::fflush(stdout) != 0) failure_ = errno;
  if (failure_ == 0 || failure_ == EPIPE) return Done{};
  return Error{Code::io, fmt::format("cannot write the output: {}", std::strerror(failure_))};
}

std::string seconds_json(Millis duration) {
  if (duration == Millis::max()) return "null";
  return fmt::format("{}.{:03}", duration.count() / 1000, duration.count() % 1000);
}

std::string deadline_json(Time deadline, Time now) {
  if (deadline == kNever) return R"("ttl": null, "deadline_ms": null, "deadline": null)";
  return fmt::format(R"("ttl": {}, "deadline_ms": {}, "deadline": "{}")",
                     seconds_json(remaining(deadline, now)), deadline.time_since_epoch().count(),
                     moment_text(deadline));
}

std::string size_text(std::uint64_t bytes) {
  if (bytes < 1000) return fmt::format("{} B", bytes);
  double size = static_cast<double>(bytes);
  for (const char* const unit : {"KB", "MB", "GB"}) {
    size /= 1000;
    if (size < 999.95) return fmt::format("{:.1f} {}", size, unit);
  }
  return fmt::format("{:.1f} TB", size / 1000);
}

}  // namespace mayfly
