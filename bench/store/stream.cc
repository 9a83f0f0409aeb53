// SPDX-License-Identifier: Apache-2.0
// The stream of entries that live for a moment. Declared in store_suite.h.

#include <algorithm>
#include <chrono>
#include <fstream>
#include <string>
#include <thread>
#include <utility>

#include "bench/report/must.h"
#include "bench/report/statistics.h"
#include "bench/store/store_suite.h"
#include "mayfly/internal/stopwatch.h"
#include "mayfly/store.h"

namespace mayfly::bench {
namespace {

constexpr std::int64_t kTick = 1'000'000;  // ns: puts come in groups, one each millisecond
constexpr std::int64_t kSecond = 1'000'000'000;

// What this process had written to block devices by the system's count; 0 if it does not count.
double written_bytes() {
  std::ifstream file("/proc/self/io");
  std::string name;
  double value = 0;
  while (file >> name >> value) {
    if (name == "write_bytes:") return value;
  }
  return 0;
}

double size_of(const std::filesystem::path& path) {
  std::error_code missing;
  const auto bytes = std::filesystem::file_size(path, missing);
  return missing ? 0 : static_cast<double>(bytes);
}

class Stream {
 public:
  Stream(const StreamPlan& plan, const std::filesystem::path& directory)
      : plan_(plan),
        path_(directory / "stream.db"),
        store_(must(Store::open(path_, clock_))),
        values_(plan.value_bytes, 1) {
    took_.reserve(plan.puts_per_second * static_cast<std::size_t>(plan.length.count()));
  }

  void run(Progress& progress) {
    const double work = stream_work(plan_) / static_cast<double>(plan_.length.count());
    start_ = monotonic_ns();
    for (std::int64_t second = 0; second < plan_.length.count(); ++second) {
      progress.begin("stream, " + std::to_string(second) + " seconds");
      const std::size_t first = took_.size();
      for (std::int64_t tick = 0; tick < kSecond / kTick; ++tick) put_group(second, tick);
      note_second(second + 1, first);
      progress.add(work);
    }
    seconds_ = static_cast<double>(monotonic_ns() - start_) / kSecond;
  }

  // Closes the store.
  Run finish(double written_before) {
    must(store_.checkpoint());  // its bytes count, too
    const StoreStats stats = must(store_.stats());
    must(store_.close());
    const auto puts = static_cast<double>(took_.size());
    const auto us = [&](double percent) { return percentile(took_, percent) / 1e3; };
    return {.suite = "store",
            .part = "stream",
            .name = "stream",
            .system = "mayfly",
            .settings = {{"puts_per_second", static_cast<double>(plan_.puts_per_second)},
                         {"seconds", static_cast<double>(plan_.length.count())},
                         {"ttl_ms", static_cast<double>(plan_.ttl.count())},
                         {"value_bytes", static_cast<double>(plan_.value_bytes)}},
            .metrics = {{"puts_per_second", puts / seconds_},
                        {"p50_us", us(50)},
                        {"p99_us", us(99)},
                        {"p999_us", us(99.9)},
                        {"max_us", us(100)},
                        {"late_ms", static_cast<double>(latest_) / 1e6},
                        {"file_bytes", size_of(path_)},
                        {"log_bytes_per_put", static_cast<double>(stats.logged_bytes) / puts},
                        {"tree_bytes_per_put", static_cast<double>(stats.tree_bytes) / puts},
                        {"bytes_per_put",
                         static_cast<double>(stats.logged_bytes + stats.tree_bytes) / puts},
                        {"device_bytes_per_put", (written_bytes() - written_before) / puts},
                        {"unwritten_percent",
                         static_cast<double>(stats.expired_unwritten) * 100 / puts},
                        {"checkpoints", static_cast<double>(stats.checkpoints)},
                        {"stalled_ms", static_cast<double>(stats.stalled_ms)}},
            .series = {std::move(sizes_), std::move(slowest_)}};
  }

 private:
  // The puts of one millisecond, when it has come. If the store was late, it catches up: so a wait
  // is not hidden by puts that were never tried.
  void put_group(std::int64_t second, std::int64_t tick) {
    const std::int64_t due = start_ + second * kSecond + tick * kTick;
    std::int64_t now = monotonic_ns();
    if (now < due) std::this_thread::sleep_for(std::chrono::nanoseconds(due - now));
    now = monotonic_ns();
    latest_ = std::max(latest_, now - due);
    const auto rate = static_cast<std::int64_t>(plan_.puts_per_second);
    const auto ticks = kSecond / kTick;
    const auto end = static_cast<std::size_t>(second * rate + (tick + 1) * rate / ticks);
    while (took_.size() < end) {
      const std::size_t number = took_.size();
      const StoreOp op{.key = token_key(number),
                       .value = static_cast<std::uint32_t>(number % 65'536)};
      const std::int64_t begin = monotonic_ns();
      must(store_.put(op.key_view(), values_[op], plan_.ttl));
      took_.push_back(static_cast<float>(monotonic_ns() - begin));
    }
  }

  void note_second(std::int64_t second, std::size_t first) {
    const auto at = static_cast<double>(second);
    const std::vector<float> some(took_.begin() + static_cast<std::ptrdiff_t>(first), took_.end());
    sizes_.points.emplace_back(at, size_of(path_) + size_of(path_.string() + "-wal"));
    slowest_.points.emplace_back(at, percentile(some, 99.9) / 1e3);
  }

  const StreamPlan& plan_;
  const std::filesystem::path path_;
  SystemClock clock_;
  Store store_;
  const ValuePool values_;
  std::vector<float> took_;  // ns, of each put
  Series sizes_{"file and log", "bytes"};
  Series slowest_{"p99.9 of a put", "us"};
  std::int64_t start_ = 0;
  std::int64_t latest_ = 0;  // ns, of a group
  double seconds_ = 0;
};

}  // namespace

Run run_stream(const StreamPlan& plan, const std::filesystem::path& directory, Progress& progress) {
  const double before = written_bytes();
  std::filesystem::remove(directory / "stream.db");
  Stream stream(plan, directory);
  stream.run(progress);
  return stream.finish(before);
}

double stream_work(const StreamPlan& plan) {
  return static_cast<double>(plan.length.count()) * 500'000;
}

}  // namespace mayfly::bench
