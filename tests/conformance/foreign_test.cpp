// foreign_test.cpp — Go's runtime/crash_cgo_test.go, as far as it is about threads that the runtime did not
// start: plain threads that call Weft, start goroutines, and end. What Go says about its M holds for our
// record of such a thread.
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "child.hpp"
#include "context/thread_pointer.hpp"
#include "weft/chan.hpp"
#include "weft/go.hpp"
#include "weft/join_handle.hpp"
#include "weft/mutex.hpp"
#include "weft/runtime.hpp"
#include "weft/this_goroutine.hpp"
#include "weft/wait_group.hpp"
#include "weft_test.hpp"

namespace {

using namespace std::chrono_literals;
using weft::rt::this_machine;
using weft_test::flag;
using weft_test::for_each_procs;
using weft_test::scaled;
using weft_test::with_procs;

// Counts a signal while it exists.
class counting_handler {
 public:
  explicit counting_handler(int signal) : signal_(signal) {
    count = 0;
    struct sigaction act = {};
    act.sa_handler = [](int) { ++count; };
    act.sa_flags = SA_RESTART | SA_ONSTACK;
    sigaction(signal, &act, &before_);
  }
  ~counting_handler() { sigaction(signal_, &before_, nullptr); }
  static inline std::atomic<int> count{0};

 private:
  int signal_;
  struct sigaction before_;
};

// What a plain thread does with a world: goroutines, and waiting for them.
void visit(int goroutines) {
  auto c = weft::make_chan<int>();
  for (int i = 0; i < goroutines; ++i) weft::go([=] { c.send(i); });
  int sum = 0;
  for (int i = 0; i < goroutines; ++i) sum += c.recv().value_or(-1000);
  EXPECT_EQ(sum, goroutines * (goroutines - 1) / 2);
}

// The first call of a thread takes a record and its end gives it back: the next one gets the same.
TEST(crash_cgo_test, TestEnsureDropM) {
  std::set<void*> records;
  for (int i = 0; i < 50; ++i)
    std::thread([&] {
      EXPECT_EQ(this_machine(), nullptr);
      weft::maxprocs();
      weft::this_goroutine::id();
      records.insert(this_machine());
    }).join();
  EXPECT_EQ(records.size(), 1u);
  EXPECT_FALSE(records.contains(nullptr));
}

// A thread keeps its record as long as it lives, and nobody else has it.
TEST(crash_cgo_test, TestEnsureBindM) {
  with_procs(2, [] {
    weft::mutex m;
    std::set<void*> records;
    std::set<std::uint64_t> ids;
    std::atomic<int> ready{0};
    constexpr int n = 5;
    std::vector<std::thread> threads;
    for (int t = 0; t < n; ++t)
      threads.emplace_back([&] {
        const std::uint64_t id = weft::this_goroutine::id();
        void* const record = this_machine();
        {
          std::scoped_lock hold(m);
          records.insert(record);
          ids.insert(id);
        }
        ++ready;
        while (ready < n) weft::this_goroutine::yield();   // all live at the same time
        for (int i = 0; i < scaled(50, 5); ++i) {
          visit(3);
          ASSERT_EQ(this_machine(), record);
          ASSERT_EQ(weft::this_goroutine::id(), id);
        }
      });
    for (auto& t : threads) t.join();
    EXPECT_EQ(records.size(), std::size_t{n});
    EXPECT_EQ(ids.size(), std::size_t{n});
  });
}

// What the runtime keeps for a thread is no goroutine; what a thread starts is one.
TEST(crash_cgo_test, TestCgoNumGoroutine) {
  for_each_procs([] {
    EXPECT_EQ(weft::num_goroutine(), 1);
    std::thread([] {
      EXPECT_EQ(weft::num_goroutine(), 1);
      auto hold = weft::make_chan<int>();
      weft::wait_group all;
      for (int i = 0; i < 3; ++i) all.go([=] { hold.recv(); });
      EXPECT_EQ(weft::num_goroutine(), 4);
      hold.close();
      all.wait();
    }).join();
    while (weft::num_goroutine() != 1) weft::this_goroutine::yield();  // done() comes a moment before the end
  });
}

// The first call of a thread, under a hail of signals that are handled on it.
TEST(crash_cgo_test, TestNeedmDeadlock) {
  counting_handler counting(SIGCHLD);
  with_procs(2, [] {
    for (int round = 0; round < scaled(20, 3); ++round) {
      constexpr int signallers = 10;
      std::atomic<bool> ended{false};
      std::atomic<int> sent{0};
      flag all_stopped;
      std::thread called([&] {
        while (sent < signallers) std::this_thread::yield();
        for (int i = 0; i < 10; ++i) visit(2);
        ended = true;
        all_stopped.wait();                          // or the signals would have nowhere to go
      });
      std::vector<std::thread> threads;
      for (int t = 0; t < signallers; ++t)
        threads.emplace_back([&] {
          for (int i = 0; i < 100 && !ended; ++i) {
            pthread_kill(called.native_handle(), SIGCHLD);
            ++sent;
            std::this_thread::yield();
          }
        });
      for (auto& t : threads) t.join();
      all_stopped.set();
      called.join();
    }
  });
  EXPECT_GT(counting_handler::count, 0);
}

// A profiler's signal may come to any thread at any time: one that Weft does not know, knows, runs.
TEST(crash_cgo_test, TestCgoExternalThreadSIGPROF) {
  counting_handler counting(SIGPROF);
  with_procs(2, [] {
    itimerval tick = {{0, 1000}, {0, 1000}}, off = {};
    setitimer(ITIMER_PROF, &tick, nullptr);
    std::atomic<bool> stop{false};
    weft::wait_group all;
    for (int i = 0; i < 3; ++i)
      all.go([&] { for (volatile int k = 0; !stop.load(std::memory_order_relaxed);) k = k + 1; });
    for (int round = 0; round < scaled(20, 3) || counting_handler::count < 100; ++round)
      std::thread([] {
        raise(SIGPROF);
        weft::this_goroutine::yield();
        raise(SIGPROF);
        visit(3);
        raise(SIGPROF);
      }).join();
    stop = true;
    all.wait();
    setitimer(ITIMER_PROF, &off, nullptr);
  });
}

// Go: callbacks during collections. A stop of the world neither waits for threads nor loses them.
TEST(crash_cgo_test, TestCgoCallbackGC) {
  for_each_procs([] {
    std::atomic<bool> stop{false};
    std::atomic<int> visits{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t)
      threads.emplace_back([&] {
        while (!stop) {
          std::thread([] { visit(5); }).join();      // each its first call
          visit(5);
          ++visits;
        }
      });
    const int wanted = scaled(100, 6);
    while (visits < wanted) {
      weft::stop_the_world([](void*) {}, nullptr);
      weft::this_goroutine::yield();
    }
    stop = true;
    for (auto& t : threads) t.join();
  });
}

std::uintptr_t handled_at = 0;   // an address on the stack that the handler ran on

// A thread's own alternate signal stack, or that it has none, is not ours to change; it is not remembered,
// either, when the thread has taken it away.
TEST(crash_cgo_test, TestSigStackSwapping) {
  constexpr std::size_t size = 64 * 1024;
  struct sigaction act = {}, before;
  act.sa_handler = [](int) {
    char here;
    handled_at = reinterpret_cast<std::uintptr_t>(&here);
  };
  act.sa_flags = SA_ONSTACK | SA_RESTART;
  sigaction(SIGPROF, &act, &before);
  auto visit_with = [](const stack_t& given) {
    visit(2);
    raise(SIGPROF);
    stack_t now;
    sigaltstack(nullptr, &now);
    EXPECT_EQ(now.ss_flags, given.ss_flags);
    if (given.ss_flags & SS_DISABLE) return;
    EXPECT_EQ(now.ss_sp, given.ss_sp);
    EXPECT_EQ(now.ss_size, given.ss_size);
    EXPECT_LT(handled_at - reinterpret_cast<std::uintptr_t>(given.ss_sp), given.ss_size);
  };
  with_procs(2, [=] {
    for (bool has_one : {false, true, false, true})
      std::thread([=] {
        stack_t found;
        sigaltstack(nullptr, &found);                // a sanitizer gives each thread one
        if (!has_one) return visit_with(found);
        void* room = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        ASSERT_NE(room, MAP_FAILED);
        const stack_t own = {.ss_sp = room, .ss_flags = 0, .ss_size = size};
        sigaltstack(&own, nullptr);
        visit_with(own);
        sigaltstack(&found, nullptr);
        mprotect(room, size, PROT_NONE);             // who still uses it faults
      }).join();
  });
  sigaction(SIGPROF, &before, nullptr);
}

void visit_on(std::vector<char>& stack) {
  ucontext_t here, there;
  getcontext(&there);
  there.uc_stack = {.ss_sp = stack.data(), .ss_flags = 0, .ss_size = stack.size()};
  there.uc_link = &here;
  makecontext(&there, [] { visit(3); }, 0);
  swapcontext(&here, &there);
}

// A thread that switches stacks itself (coroutines of another library, say) calls Weft on each of them.
TEST(crash_cgo_test, TestStackSwitchCallback) {
  if (weft_test::slowdown != 1) GTEST_SKIP() << "sanitizers do not know makecontext()";
  with_procs(2, [] {
    for (bool first_on_its_own : {true, false})
      std::thread([=] {
        if (first_on_its_own) visit(3);
        std::vector<char> one(128 * 1024), two(128 * 1024);
        visit_on(one);
        void* const record = this_machine();
        visit_on(two);
        EXPECT_EQ(this_machine(), record);
        visit(3);
        EXPECT_EQ(this_machine(), record);
      }).join();
  });
}

pthread_key_t key_before, key_after;   // of destructors that run before ours and after it
std::atomic<int> destructors{0};

void visit_at_end(void*) {
  visit(2);
  ++destructors;
}

struct visits_at_end {
  ~visits_at_end() { visit_at_end(nullptr); }
};

// Destructors that call Weft: of the thread, when its record is gone perhaps, and of the process.
TEST(crash_cgo_test, TestDestructorCallback) {
  pthread_key_create(&key_before, visit_at_end);
  with_procs(2, [] {
    std::thread([] { visit(1); }).join();            // by now Weft has its key
    pthread_key_create(&key_after, visit_at_end);
    destructors = 0;
    std::set<void*> records;
    for (int i = 0; i < 10; ++i)
      std::thread([&] {
        static thread_local visits_at_end last;
        static_cast<void>(&last);
        pthread_setspecific(key_before, &last);
        pthread_setspecific(key_after, &last);
        visit(2);
        records.insert(this_machine());
      }).join();
    EXPECT_EQ(destructors, 30);
    EXPECT_EQ(records.size(), 1u);
    pthread_key_delete(key_after);
  });
  pthread_key_delete(key_before);
  weft_test::child_result r = weft_test::run_program("foreign", {"calls_at_exit"});
  EXPECT_EQ(r.exit_status, 0) << r;
  EXPECT_EQ(r.out, "returned\n42 0\n") << r;
}

// The thread of a goroutine that ends locked really ends: with what libc does at the end of one.
TEST(crash_cgo_test, TestCgoLockOSThreadExit) {
  pthread_key_t key;
  pthread_key_create(&key, [](void* ended) { static_cast<flag*>(ended)->set(); });
  for_each_procs([&] {
    flag ended;
    weft::spawn(weft::attrs{.locked = true}, [&] { pthread_setspecific(key, &ended); }).join();
    ended.wait_in_goroutine();
  });
  pthread_key_delete(key);
}

// Throws, catches, and returns what it did.
std::string try_to_crash(const std::string& name) {
  std::string text = name + ":";
  struct at_exit {
    std::string& text;
    ~at_exit() { text += " done"; }
  };
  try {
    at_exit defer{text};
    weft::this_goroutine::yield();
    throw std::runtime_error("oops");
  } catch (const std::runtime_error&) {
    weft::this_goroutine::yield();                   // within the handler
    text += " recovered";
  }
  return text;
}

// Go: a fault that is recovered from, on the main thread, on new ones, and again. In C++ an exception.
TEST(crash_cgo_test, TestCgoCrashHandler) {
  for_each_procs([] {
    weft::thread_lock here;
    EXPECT_EQ(try_to_crash("main"), "main: done recovered");
    for (int i = 0; i < 2; ++i) {
      auto on_new_thread = [] { EXPECT_EQ(try_to_crash("new-thread"), "new-thread: done recovered"); };
      weft::spawn(weft::attrs{.locked = true}, on_new_thread).join();
      std::thread(on_new_thread).join();
    }
    EXPECT_EQ(try_to_crash("main-again"), "main-again: done recovered");
  });
}

// Many Ps and many threads locked to goroutines that wait for ever, and one goroutine that fails and recovers
// all the time: it still answers. Go: faults; here exceptions.
TEST(crash_cgo_test, TestCgoSignalDeadlock) {
  with_procs(100, [] {
    auto ping = weft::make_chan<bool>();
    weft::go([=] {
      for (;;) {
        weft::this_goroutine::yield();
        if (auto last = ping.try_recv()) {
          ping.send(true);
          if (*last) return;
        }
        try_to_crash("it");
      }
    });
    for (int i = 0; i < scaled(64, 8); ++i) {
      for (int k = 0; k < 2; ++k)
        weft::go({.locked = true}, [] { weft::chan<int>().recv(); });
      weft::this_goroutine::sleep_for(1ms);
      ping.send(false);
      EXPECT_TRUE(ping.recv().has_value());
    }
    ping.send(true);
    EXPECT_TRUE(ping.recv().has_value());
  });
}

// Ends the process as the C++ library does, not as a goroutine's.
TEST(crash_cgo_test, TestCgoExternalThreadPanic) {
  weft_test::child_result r = weft_test::run_program("foreign", {"panic_on_thread"});
  EXPECT_EQ(r.signal, SIGABRT) << r;
  EXPECT_NE(r.err.find("oops"), r.err.npos) << r;
}

TEST(crash_cgo_test, TestCgoToGoCallGoexit) {
  weft_test::child_result r = weft_test::run_program("foreign", {"exit_on_thread"});
  EXPECT_EQ(r.exit_status, 2) << r;
  const std::string text =
      "fatal error: runtime.Goexit called in a thread that was not created by the Go runtime\n";
  EXPECT_EQ(r.err.substr(0, text.size()), text) << r;
}

// By SIGSEGV, or by a sanitizer that has noticed it; and it is not taken for anything of ours.
void expect_death_by_fault(const std::string& name) {
  weft_test::child_result r = weft_test::run_program("foreign", {name}, {"WEFTDEBUG=slice=200"});
  EXPECT_FALSE(r.timed_out) << r;
  if (weft_test::slowdown == 1)
    EXPECT_EQ(r.signal, SIGSEGV) << r;
  else
    EXPECT_TRUE(r.signal == SIGSEGV || r.exit_status > 0) << r;
  EXPECT_EQ(r.err.find("fatal error: "), r.err.npos) << r;
  EXPECT_EQ(r.err.find("runtime: "), r.err.npos) << r;
}

TEST(crash_cgo_test, TestCgoExternalThreadSignal) { expect_death_by_fault("fault_on_thread"); }

TEST(crash_cgo_test, TestSegv) {
  expect_death_by_fault("segv");
  expect_death_by_fault("tgkill_segv");
}

// A program's handler for faults gets all but those in a goroutine's guard.
TEST(crash_cgo_test, TestCgoSigfwd) {
  weft_test::child_result r = weft_test::run_program("foreign", {"fault_with_handler"});
  EXPECT_EQ(r.exit_status, 3) << r;
  EXPECT_EQ(r.out, "handled\n") << r;
  r = weft_test::run_program("foreign", {"overflow_with_handler"});
  EXPECT_EQ(r.exit_status, 2) << r;
  EXPECT_NE(r.err.find("fatal error: stack overflow\n"), r.err.npos) << r;
}


}  // namespace
