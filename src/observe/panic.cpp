// panic.cpp — std::terminate on a goroutine, in Go's words.
//
// The goroutine's entry catches nothing, so the search for a handler fails at its outermost frame and the
// frames of the thrower are still there when this handler runs, on top of them.
#include "observe/panic.hpp"

#include <cxxabi.h>
#include <signal.h>
#include <stdlib.h>

#include <exception>
#include <string>
#include <string_view>

#include "base/check.hpp"
#include "base/print.hpp"
#include "observe/goroutine_dump.hpp"
#include "observe/overflow_report.hpp"
#include "os/linux/fault.hpp"
#include "sched/sched.hpp"

// libc's sigaction() by the name that ThreadSanitizer does not intercept: it would hold the signal back until
// the thread calls a blocking function of libc, and ours sleep in system calls of their own.
extern "C" int __sigaction(int, const struct sigaction*, struct sigaction*);

namespace weft::inline v0::rt {
namespace {

atomic<std::terminate_handler> handler_before{nullptr};

// ---- the text of an exception: user code, so before anything is frozen ----

struct plain_name {   // demangled where memory allows
  explicit plain_name(const std::type_info* type) noexcept
      : mangled(type ? type->name() : "unknown type"),
        text(type ? abi::__cxa_demangle(mangled, nullptr, nullptr, nullptr) : nullptr) {}
  ~plain_name() { free(text); }
  plain_name(const plain_name&) = delete;
  plain_name& operator=(const plain_name&) = delete;
  // Without the wrapper that std::throw_with_nested puts around the type.
  std::string_view get() const noexcept {
    constexpr std::string_view wrapper = "std::_Nested_exception<";
    std::string_view name = text ? text : mangled;
    if (!name.starts_with(wrapper)) return name;
    return name.substr(wrapper.size(), name.size() - wrapper.size() - 1);
  }
  const char* mangled;
  char* text;
};

// The innermost nested exception first: that is the older one, and Go prints the oldest first.
void print_panic(printer& out, std::exception_ptr thrown, int depth) noexcept;

void print_nested(printer& out, const std::nested_exception* outer, int depth) noexcept {
  constexpr int deepest = 100;
  if (outer && outer->nested_ptr() && depth < deepest) print_panic(out, outer->nested_ptr(), depth + 1);
}

void print_panic(printer& out, std::exception_ptr thrown, int depth) noexcept {
  try {
    std::rethrow_exception(thrown);
  } catch (const std::exception& e) {
    auto* nesting = dynamic_cast<const std::nested_exception*>(&e);
    print_nested(out, nesting, depth);
    if (nesting && nesting->nested_ptr()) out << "\t";
    out << "panic: " << plain_name(&typeid(e)).get() << ": " << e.what() << '\n';
  } catch (const std::nested_exception& e) {
    print_nested(out, &e, depth);
    out << (e.nested_ptr() ? "\t" : "") << "panic: " << plain_name(&typeid(e)).get() << '\n';
  } catch (const std::string& text) {
    out << "panic: " << text << '\n';
  } catch (const char* text) {
    out << "panic: " << text << '\n';
  } catch (int value) {
    out << "panic: int(" << value << ")\n";
  } catch (...) {
    out << "panic: (" << plain_name(abi::__cxa_current_exception_type()).get() << ")\n";
  }
}

void print_cause(printer& out) noexcept {
  if (std::exception_ptr thrown = std::current_exception()) print_panic(out, thrown, 0);
  else out << "panic: std::terminate called without an active exception\n";
}

bool is_library_default(std::terminate_handler handler) noexcept {
  return !handler || handler == abort || handler == __gnu_cxx::__verbose_terminate_handler;
}

bool is_on_goroutine() noexcept {
  machine* mp = this_machine();
  return mp && mp->current && !mp->current->is_thread;
}

[[noreturn]] void on_terminate() noexcept {
  // [order] relaxed: constant since the installation
  std::terminate_handler next = handler_before.load(relaxed);
  if (!is_on_goroutine()) {
    if (next) next();
    abort();
  }
  printer out;
  print_cause(out);
  begin_fatal();
  out.flush();
  if (!is_library_default(next)) set_after_dump(next);
  finish_fatal(2);
}

// ---- SIGQUIT ----

void on_quit(int, siginfo_t* info, void* context) {
  begin_fatal();
  machine* mp = this_machine();
  printer out;
  out << "SIGQUIT: quit\nPC=" << reinterpret_cast<const void*>(os::interrupted_pc(context)) << " m=";
  if (mp) out << mp->id;
  else out << "nil";
  out << " sigcode=" << info->si_code << '\n';
  out.flush();
  finish_fatal(2, context);
}

void install_quit_handler() noexcept {
  struct sigaction before {};
  if (sigaction(SIGQUIT, nullptr, &before) != 0 || before.sa_handler != SIG_DFL) return;
  struct sigaction action {};
  sigfillset(&action.sa_mask);
  action.sa_flags = SA_ONSTACK | SA_SIGINFO | SA_RESTART;
  action.sa_sigaction = on_quit;
  __sigaction(SIGQUIT, &action, nullptr);
}

}  // namespace

void install_panic_handlers() noexcept {
  // [order] relaxed: before any goroutine runs
  handler_before.store(std::set_terminate(on_terminate), relaxed);
  install_overflow_reports();
  install_quit_handler();
}

}  // namespace weft::inline v0::rt
