// panic.cpp — std::terminate on a goroutine, in Go's words.
//
// The goroutine's entry catches nothing, so the search for a handler fails at its outermost frame and the
// frames of the thrower are still there when this handler runs, on top of them.
#include "observe/panic.hpp"

#include <cxxabi.h>
#include <stdlib.h>

#include <exception>
#include <string>
#include <string_view>

#include "base/check.hpp"
#include "base/print.hpp"
#include "observe/crash.hpp"
#include "observe/goroutine_dump.hpp"
#include "observe/overflow_report.hpp"
#include "sched/sched.hpp"

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

}  // namespace

void install_panic_handlers() noexcept {
  // [order] relaxed: before any goroutine runs
  handler_before.store(std::set_terminate(on_terminate), relaxed);
  install_overflow_reports();
  install_crash_handlers();
}

}  // namespace weft::inline v0::rt
