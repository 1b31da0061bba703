// storm.hpp — many goroutines that allocate, write, check and free until the alarm rings, without a pause.
#pragma once
#include <atomic>

#include "alarm.hpp"
#include "weft/weft.hpp"

namespace unstoppable {

class storm {
 public:
  storm(int goroutines, const alarm& end);
  ~storm() { all_.wait(); }   // they use it, and the alarm
  void wait() const;   // throws if the contents of a block changed

 private:
  std::atomic<bool> broken_{false};
  weft::wait_group all_;
};

}  // namespace unstoppable
