// coroutine.hpp — the smallest user of a context: a function on its own stack takes turns with its resumer.
// Tells the sanitizers; carries nothing else, so a test can see what the switch itself carries.
#pragma once
#include <pthread.h>

#include <cstddef>
#include <functional>
#include <memory>

#include "context/context.hpp"
#include "context/sanitizer.hpp"

// As the runtime itself: TSan sees no memory accesses here and, more important, no call that never returns.
#if defined(__clang__)
#define WEFT_TEST_UNINSTRUMENTED __attribute__((disable_sanitizer_instrumentation))
#else
#define WEFT_TEST_UNINSTRUMENTED __attribute__((no_sanitize("thread")))
#endif

namespace weft_test {

namespace rt = weft::rt;

class coroutine {
 public:
  explicit coroutine(std::function<void(coroutine&)> body) : body_(std::move(body)) {
    rt::sanitizer::fibre_start(fibre_);
    context_ = rt::make_context(memory_.get() + size, entry, this);
  }
  ~coroutine() {
    if (done_) rt::sanitizer::fibre_end(fibre_);
    else rt::sanitizer::fibre_discard(fibre_, memory_.get());
    rt::sanitizer::unpoison_stack(memory_.get(), size);
  }
  coroutine(const coroutine&) = delete;

  WEFT_TEST_UNINSTRUMENTED void resume() {   // until it yields or ends; on whatever thread calls this
    rt::sanitizer::adopt_thread(resumer_fibre_);
    resumer_stack_ = thread_stack();
    before_switch(fibre_, resumer_fibre_, memory_.get(), size, false);
    with_mxcsr_ ? rt::weft_switch_fp(&resumer_, context_) : rt::weft_switch(&resumer_, context_);
    rt::sanitizer::after_switch(resumer_fibre_);
    rt::sanitizer::hb_acquire(this);
  }
  WEFT_TEST_UNINSTRUMENTED void yield() {   // from within
    before_switch(resumer_fibre_, fibre_, resumer_stack_.bottom, resumer_stack_.size, false);
    with_mxcsr_ ? rt::weft_switch_fp(&context_, resumer_) : rt::weft_switch(&context_, resumer_);
    rt::sanitizer::after_switch(fibre_);
    rt::sanitizer::hb_acquire(this);
  }
  bool done() const { return done_; }
  void carry_mxcsr(bool on) { with_mxcsr_ = on; }
  const rt::context& parked() const { return context_; }

  static constexpr std::size_t size = 256 * 1024;

 private:
  struct bounds { void* bottom = nullptr; std::size_t size = 0; };
  static bounds thread_stack() {
    static thread_local bounds b{};
    if (rt::sanitizer::address && b.bottom == nullptr) {
      pthread_attr_t attributes;
      pthread_getattr_np(pthread_self(), &attributes);
      pthread_attr_getstack(&attributes, &b.bottom, &b.size);
      pthread_attr_destroy(&attributes);
    }
    return b;
  }
  WEFT_TEST_UNINSTRUMENTED void before_switch(rt::sanitizer::fibre& to, rt::sanitizer::fibre& from,
                                              void* bottom, std::size_t bytes, bool dying) {
    rt::sanitizer::hb_release(this);
    rt::sanitizer::before_switch(from, to, bottom, bytes, dying);
  }
  WEFT_TEST_UNINSTRUMENTED static void entry(void* self) { static_cast<coroutine*>(self)->run(); }
  WEFT_TEST_UNINSTRUMENTED void run() {
    rt::sanitizer::after_switch(fibre_);
    rt::sanitizer::hb_acquire(this);
    body_(*this);
    done_ = true;
    before_switch(resumer_fibre_, fibre_, resumer_stack_.bottom, resumer_stack_.size, true);
    rt::jump(resumer_);
  }

  std::function<void(coroutine&)> body_;
  std::unique_ptr<std::byte[]> memory_{new std::byte[size]};
  rt::context context_, resumer_;
  rt::sanitizer::fibre fibre_, resumer_fibre_;
  bounds resumer_stack_;
  bool done_ = false;
  bool with_mxcsr_ = false;
};

}  // namespace weft_test
