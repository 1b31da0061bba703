// main.cpp — weft-symbolizer: a filter from the raw dump of goroutines to one with functions and lines.
//
//   weft-symbolizer [--all] < raw > named
//
//     <tab>0x55d0c0a01234 /usr/bin/app+0x1234         ->   serve(request&)
//                                                          <tab>/src/serve.cpp:42 +0x1f
//     created by goroutine 1 at 0x55d... /usr/bin/app+0x99f
//                                                     ->   created by accept_loop() in goroutine 1
//                                                          <tab>/src/serve.cpp:90 +0x33
//     anything else                                   ->   itself
//
// The runtime's own frames are left out unless --all. Started by a process that dumps (observe/naming.cpp);
// works on a dump that was kept from elsewhere too, as long as the same binaries lie where they lay.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <map>
#include <string>
#include <string_view>
#include <tuple>

#include "observe/symbolizer/names.hpp"

namespace {

using weft::symbolizer::function;
using weft::symbolizer::names;
using weft::symbolizer::place;

struct frame {
  std::string address;
  std::string module;
  std::uint64_t offset = 0;
  bool exact = false;         // the instruction that faulted, not one that a call returns to
};

// "0xADDR MODULE+0xOFFSET[ (fault)]"; false: something else.
bool parse(std::string_view text, frame& f) {
  constexpr std::string_view fault = " (fault)";
  f.exact = text.ends_with(fault);
  if (f.exact) text.remove_suffix(fault.size());
  std::size_t space = text.find(' '), plus = text.rfind("+0x");
  if (!text.starts_with("0x") || space == text.npos || plus == text.npos || plus < space) return false;
  f.address = text.substr(0, space);
  f.module = text.substr(space + 1, plus - space - 1);
  f.offset = std::stoull(std::string(text.substr(plus + 3)), nullptr, 16);
  return true;
}

// Not the user's business: the runtime, the glue of std between it and the user's function, and the library
// code that finds out that nobody catches.
bool is_hidden(std::string_view name) {
  static constexpr std::string_view plain[] = {
      "weft_switch", "weft_jump", "weft_context_begin", "weft_call_on_top_of",
      "__gxx_personality_v0", "_Unwind_", "_ZSt9terminatev", "_ZN10__cxxabiv1",
      "_ZN9__gnu_cxx27__verbose_terminate_handler", "_ZSt6invoke", "_ZSt8__invoke", "_ZSt13__invoke_impl",
      "_ZSt10__invoke_r", "_ZSt5apply", "_ZSt12__apply_impl", "_ZNSt17_Function_handler", "_ZNKSt8function"};
  for (std::string_view prefix : plain) {
    if (name.starts_with(prefix)) return true;
  }
  for (std::string_view prefix :
       {"weft::v0::rt::", "weft::v0::detail::", "weft::v0::run<", "weft::v0::spawn<"}) {
    if (name.starts_with(prefix))
      return true;  // what has no linkage name lies in a function, or is one of a few
  }
  if (!name.starts_with("_Z")) return false;
  name.remove_prefix(2);
  bool is_local = name.starts_with('Z');   // a lambda in a function
  while (name.starts_with('Z')) name.remove_prefix(1);
  while (!name.empty() && std::strchr("NKRO", name.front())) name.remove_prefix(1);
  return name.starts_with("4weft2v02rt") || name.starts_with("4weft2v06detail") ||
         (is_local && (name.starts_with("4weft2v03run") || name.starts_with("4weft2v05spawn")));
}

// go() and spawn(). By their files too: with -g1 an inlined function has its last name only.
bool starts_goroutines(const function& f) {
  for (std::string_view prefix :
       {"_ZN4weft2v02goI", "_ZN4weft2v05spawnI", "weft::v0::go<", "weft::v0::spawn<"}) {
    if (f.linkage_name.starts_with(prefix)) return true;
  }
  std::string_view file = f.file;
  return file.ends_with("/weft/go.hpp") || file.ends_with("/weft/join_handle.hpp") ||
         file.ends_with("/weft/detail/start.hpp");
}

// Nothing of the user's is ever inlined there.
bool is_compiled_runtime(const place& where) {
  std::string_view name = where.functions.back().linkage_name;
  return name.starts_with("_ZN4weft2v02rt") || name.starts_with("_ZNK4weft2v02rt");
}

// The C++ runtime between the throw and us, where it has no names.
bool is_unwinder(const std::string& module) {
  return module.find("/libstdc++.so") != module.npos || module.find("/libgcc_s.so") != module.npos;
}

bool is_throw(const function& f) {
  return f.linkage_name == "__cxa_throw" || f.linkage_name == "__cxa_rethrow" ||
         f.linkage_name.starts_with("_ZSt17rethrow_exception");
}

class filter {
 public:
  explicit filter(bool show_all) : show_all_(show_all) {}

  void line(const std::string& text) {
    constexpr std::string_view created = "created by goroutine ";
    frame f;
    if (text.starts_with('\t') && parse(std::string_view(text).substr(1), f)) {
      show(f, find(f));
    } else if (std::size_t at = text.find(" at "); text.starts_with(created) && at != text.npos &&
                                                   parse(std::string_view(text).substr(at + 4), f)) {
      show_creator(text.substr(created.size(), at - created.size()), f);
    } else {
      std::cout << text << '\n';
      std::cout.flush();   // whoever waits for us may run out of patience: what is done is done
    }
  }

 private:
  // A thousand goroutines wait in the same few places.
  const place& find(const frame& f) {
    auto [at, is_new] = known_.try_emplace({f.module, f.offset, f.exact});
    if (is_new) at->second = names_.find(f.module, f.offset, f.exact);
    return at->second;
  }

  void show(const frame& f, const place& where) {
    if (where.functions.empty()) {
      if (show_all_ || !is_unwinder(f.module)) show_unknown(f);
      return;
    }
    if (!show_all_ && is_compiled_runtime(where)) return;
    for (const function& fn : where.functions) {
      if (!show_all_ && is_hidden(fn.linkage_name)) continue;
      if (is_throw(fn)) std::cout << "panic(...)\n";
      else std::cout << fn.name << (fn.inlined ? " (inlined)" : "") << '\n';
      show_location(f, fn, where.offset);
    }
  }

  void show_unknown(const frame& f) {
    std::cout << f.address << "\n\t" << f.module << "+0x" << hex(f.offset) << '\n';
  }

  void show_location(const frame& f, const function& fn, std::uint64_t offset) {
    if (fn.file.empty()) std::cout << '\t' << f.module << "+0x" << hex(f.offset);
    else std::cout << '\t' << fn.file << ':' << fn.line;
    std::cout << " +0x" << hex(offset) << '\n';
  }

  // The place in go() where the runtime was entered; the user's function is the first one that is not ours.
  void show_creator(const std::string& id, const frame& f) {
    const place& where = find(f);
    auto is_users = [&](const function& fn) {
      return show_all_ || !(is_hidden(fn.linkage_name) || starts_goroutines(fn));
    };
    auto fn = std::find_if(where.functions.begin(), where.functions.end(), is_users);
    if (fn == where.functions.end() && !where.functions.empty()) fn = where.functions.end() - 1;
    if (fn == where.functions.end()) {
      std::cout << "created by " << f.address << " in goroutine " << id << "\n\t" << f.module << "+0x"
                << hex(f.offset) << '\n';
      return;
    }
    std::cout << "created by " << fn->name << " in goroutine " << id << '\n';
    show_location(f, *fn, where.offset);
  }

  static std::string hex(std::uint64_t v) {
    char text[17];
    std::snprintf(text, sizeof text, "%llx", static_cast<unsigned long long>(v));
    return text;
  }

  names names_;
  std::map<std::tuple<std::string, std::uint64_t, bool>, place> known_;
  bool show_all_;
};

}  // namespace

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  filter names(argc > 1 && std::string_view(argv[1]) == "--all");
  for (std::string text; std::getline(std::cin, text);) names.line(text);
  return std::cout ? 0 : 1;
}
