// loader.cpp — the dynamic loader: its lock, and a library's TLS, which is allocated at the first touch.
#include <dlfcn.h>

#include "kit.hpp"

namespace soak {

void load_library(kit& mine) {
  const std::string path = WEFT_SOAK_PLUGINS + std::to_string(mine.random.below(WEFT_SOAK_PLUGIN_COUNT)) + ".so";
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw wrong(dlerror());
  const auto add = reinterpret_cast<int (*)(int)>(dlsym(library, "plugin_add"));
  require(add != nullptr, "dlsym failed");
  const int first = add(1);
  require(add(2) == first + 2, "the library's thread-local variable changed");
  require(dlclose(library) == 0, "dlclose failed");
}

}  // namespace soak
