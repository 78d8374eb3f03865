#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

namespace dragoman::core {

/// A value that is replaced while other threads read it. Readers take no lock. Every version lives as long as the
/// object, so a reference to a version stays valid. Because no version is freed earlier, use it for values that rarely
/// change.
///
///     Versioned<std::vector<std::string>> names;
///     names.update([](std::vector<std::string>& next) { next.push_back("transformer"); });
///     const std::vector<std::string>& now = names.get();
template <class Value>
class Versioned {
 public:
  explicit Versioned(Value first = {}) { publish(std::make_unique<const Value>(std::move(first))); }
  Versioned(const Versioned&) = delete;
  Versioned& operator=(const Versioned&) = delete;

  /// Returns the newest version. Thread-safe.
  const Value& get() const noexcept { return *newest_.load(std::memory_order_acquire); }

  /// Calls change(value) with a copy of the newest version and publishes the copy. If `change` throws, the value is
  /// unchanged. Thread-safe; concurrent updates are serialised.
  template <class Change>
  void update(Change&& change) {
    const std::lock_guard lock(mutex_);
    auto next = std::make_unique<Value>(get());
    change(*next);
    publish(std::move(next));
  }

 private:
  void publish(std::unique_ptr<const Value> version) {
    versions_.push_back(std::move(version));
    newest_.store(versions_.back().get(), std::memory_order_release);
  }

  std::mutex mutex_;
  std::vector<std::unique_ptr<const Value>> versions_;
  std::atomic<const Value*> newest_{nullptr};
};

}  // namespace dragoman::core
