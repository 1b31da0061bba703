// install.cpp — the scheduler's ports, filled in at compile time, and what has to wait for the first run().
#include "observe/install.hpp"

#include "base/check.hpp"
#include "observe/block_warning.hpp"
#include "observe/goroutine_dump.hpp"
#include "observe/naming.hpp"
#include "observe/panic.hpp"
#include "observe/running_stack.hpp"
#include "observe/schedtrace.hpp"
#include "sched/ports.hpp"

namespace weft::inline v0::rt {

constinit scheduler_ports ports{.print_schedtrace = print_schedtrace,
                                .print_block_warnings = print_block_warnings,
                                .show_stack = answer_stack_request,
                                .first_run = observe_install};

void observe_install() noexcept {
  find_symbolizer();
  set_dump_port(dump_at_death);
  install_panic_handlers();
}

}  // namespace weft::inline v0::rt
