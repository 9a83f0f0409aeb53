// SPDX-License-Identifier: Apache-2.0
#include "etcd/etcd_register.h"

#include <cstdint>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "etcd/etcd_meter.h"
#include "etcd/etcd_worker.h"
#include "etcd/http/curl_library.h"
#include "etcd/http/quiet_thread.h"

namespace mayfly {
namespace {

// The owner's functions never leave its thread: questions and answers carry numbers.
class EtcdRegister final : public Register {
 public:
  EtcdRegister(const CurlLibrary& curl, const EtcdOptions& options, std::function<void()> wake)
      : options_(options),
        wake_(std::move(wake)),
        worker_(curl, options_, meter_, answers()),
        thread_(start_quiet_thread([this] { worker_.run([this] { take_questions(); }); })) {}

  ~EtcdRegister() override {
    worker_.stop();
    thread_.join();
  }

  EtcdRegister(const EtcdRegister&) = delete;
  EtcdRegister& operator=(const EtcdRegister&) = delete;

  void read(OnRead answered) override {
    const std::uint64_t id = ++last_id_;
    reads_.emplace(id, std::move(answered));
    ask([id](EtcdWorker& worker) { worker.read(id); });
  }

  void commit(RegisterCommit commit, OnCommit answered) override {
    const std::uint64_t id = ++last_id_;
    commits_.emplace(id, std::move(answered));
    ask([id, commit = std::move(commit)](EtcdWorker& worker) { worker.commit(id, commit); });
  }

  void watch(OnChange changed) override {
    changed_ = std::move(changed);
    ask([](EtcdWorker& worker) { worker.watch(); });
  }

  void announce(std::string key, std::string value) override {
    ask([key = std::move(key), value = std::move(value)](EtcdWorker& worker) {
      worker.announce(key, value);
    });
  }

  void trust(const RegisterPoint& point) override {
    ask([point](EtcdWorker& worker) { worker.trust(point); });
  }

  void distrust(std::string why) override {
    ask([why = std::move(why)](EtcdWorker& worker) { worker.distrust(why); });
  }

  void deliver() override {
    std::vector<Answer> answers;
    {
      const std::lock_guard lock(mutex_);
      answers.swap(answers_);
    }
    for (const Answer& answer : answers) {
      std::visit([this](const auto& one) { hand_over(one); }, answer);
    }
  }

  RegisterStats stats() const override { return meter_.stats(); }

 private:
  using Question = std::function<void(EtcdWorker&)>;
  struct ReadAnswer {
    std::uint64_t id;
    Result<RegisterSnapshot> snapshot;
  };
  struct CommitAnswerOf {
    std::uint64_t id;
    CommitAnswer answer;
  };
  using Changes = std::vector<RegisterEntry>;
  using Answer = std::variant<ReadAnswer, CommitAnswerOf, Changes>;

  EtcdWorker::Answers answers() {
    return {[this](std::uint64_t id, Result<RegisterSnapshot> snapshot) {
              tell(ReadAnswer{id, std::move(snapshot)});
            },
            [this](std::uint64_t id, CommitAnswer answer) {
              tell(CommitAnswerOf{id, std::move(answer)});
            },
            [this](Changes changes) { tell(std::move(changes)); }};
  }

  void ask(Question question) {
    {
      const std::lock_guard lock(mutex_);
      questions_.push_back(std::move(question));
    }
    worker_.wake();
  }

  void take_questions() {
    std::vector<Question> questions;
    {
      const std::lock_guard lock(mutex_);
      questions.swap(questions_);
    }
    for (const Question& question : questions) question(worker_);
  }

  void tell(Answer answer) {
    bool is_first = false;
    {
      const std::lock_guard lock(mutex_);
      is_first = answers_.empty();
      answers_.push_back(std::move(answer));
    }
    if (is_first) wake_();
  }

  void hand_over(const ReadAnswer& answer) {
    auto node = reads_.extract(answer.id);
    node.mapped()(answer.snapshot);
  }

  void hand_over(const CommitAnswerOf& answer) {
    auto node = commits_.extract(answer.id);
    node.mapped()(answer.answer);
  }

  void hand_over(const Changes& changes) { changed_(changes); }

  const EtcdOptions options_;
  const std::function<void()> wake_;
  EtcdMeter meter_;

  // The owner's.
  std::uint64_t last_id_ = 0;
  std::map<std::uint64_t, OnRead> reads_;
  std::map<std::uint64_t, OnCommit> commits_;
  OnChange changed_;

  std::mutex mutex_;
  std::vector<Question> questions_;  // guarded by mutex_
  std::vector<Answer> answers_;      // guarded by mutex_

  EtcdWorker worker_;
  std::thread thread_;  // last, so that all it uses is there before it starts
};

}  // namespace

Result<std::unique_ptr<Register>> open_etcd_register(const EtcdOptions& options,
                                                     std::function<void()> wake) {
  if (const Status status = check(options); !status) return status.error();
  const Result<const CurlLibrary*> curl = curl_library();
  if (!curl) return curl.error();
  return std::unique_ptr<Register>(
      std::make_unique<EtcdRegister>(**curl, options, std::move(wake)));
}

}  // namespace mayfly
