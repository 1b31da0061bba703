// alarm.hpp — a plain thread that ends what cannot be stopped, after one second.
//
// A thread and not a goroutine: a case ends in time even if it keeps the only processor.
#pragma once
#include <atomic>
#include <chrono>
#include <functional>
#include <thread>
#include <utility>

namespace unstoppable {

inline constexpr std::chrono::seconds stuck_for{1};

class alarm {
 public:
  // Calls `ring` on the thread, then rings() is true.
  explicit alarm(std::function<void()> ring = [] {})
      : thread_([this, ring = std::move(ring)] {
          std::this_thread::sleep_for(stuck_for);
          ring();
          rings_.store(true, std::memory_order_release);
        }) {}
  bool rings() const noexcept { return rings_.load(std::memory_order_acquire); }

 private:
  std::atomic<bool> rings_{false};
  std::jthread thread_;   // the last: it uses the others, and ends first
};

}  // namespace unstoppable
