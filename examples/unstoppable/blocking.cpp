// blocking.cpp — code whose thread sleeps in the kernel: on pipes, a lock, a page that is not there yet.
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <stdexcept>
#include <string>

#include "alarm.hpp"
#include "files.hpp"
#include "unstoppable.hpp"
#include "weft/weft.hpp"

#ifndef UFFD_USER_MODE_ONLY   // headers older than Linux 5.11
#define UFFD_USER_MODE_ONLY 1
#endif

namespace unstoppable {

// One of them sleeps in write(), the others for the lock of the FILE. main() ignores SIGPIPE.
void printf_to_full_pipe() {
  constexpr int goroutines = 4;
  pipe_ends pipe;
  FILE* const file = fdopen(pipe.writing.release(), "w");
  if (!file) throw_errno("fdopen");
  {
    const alarm end([&] { pipe.reading.close(); });
    weft::wait_group printers;
    for (int i = 0; i < goroutines; ++i)
      printers.go([=] {
        while (std::fprintf(file, "goroutine %d prints to nobody\n", i) > 0) {
        }
      });
    printers.wait();
  }
  std::fclose(file);
}

void mutex_held_asleep() {
  constexpr int goroutines = 8;
  constexpr unsigned held_us = 20'000;
  const alarm end;
  std::mutex mutex;
  weft::wait_group all;
  for (int i = 0; i < goroutines; ++i)
    all.go([&] {
      while (!end.rings()) {
        const std::lock_guard lock(mutex);
        usleep(held_us);
      }
    });
  all.wait();
}

void read_empty_pipe() {
  const pipe_ends pipe;
  const alarm end([&] {
    if (write(pipe.writing.get(), "x", 1) != 1) std::perror("weft-unstoppable: write");
  });
  char byte;
  if (read(pipe.reading.get(), &byte, 1) != 1) throw_errno("read");   // EINTR too: nobody disturbs it
}

namespace {

// A page of memory that stays away until serve().
class late_page {
 public:
  late_page() : size_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))), faults_(open_faults()) {
    page_ = static_cast<unsigned char*>(
        mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (page_ == MAP_FAILED) throw_errno("mmap");
    uffdio_register range{};
    range.range = {reinterpret_cast<std::uintptr_t>(page_), size_};
    range.mode = UFFDIO_REGISTER_MODE_MISSING;
    if (ioctl(faults_.get(), UFFDIO_REGISTER, &range) != 0) throw_errno("UFFDIO_REGISTER");
  }
  ~late_page() { munmap(page_, size_); }
  late_page(const late_page&) = delete;
  late_page& operator=(const late_page&) = delete;

  unsigned char read() const { return *static_cast<const volatile unsigned char*>(page_); }
  void serve(unsigned char content) {
    const std::string filled(size_, static_cast<char>(content));
    uffdio_copy copy{};
    copy.dst = reinterpret_cast<std::uintptr_t>(page_);
    copy.src = reinterpret_cast<std::uintptr_t>(filled.data());
    copy.len = size_;
    if (ioctl(faults_.get(), UFFDIO_COPY, &copy) != 0) std::perror("weft-unstoppable: UFFDIO_COPY");
    faults_.close();   // whoever still waits gets an empty page
  }

 private:
  static descriptor open_faults() {
    descriptor faults(static_cast<int>(syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY)));
    if (faults.get() < 0) throw skipped(std::string("no userfaultfd here: ") + std::strerror(errno));
    uffdio_api version{};
    version.api = UFFD_API;
    if (ioctl(faults.get(), UFFDIO_API, &version) != 0) throw_errno("UFFDIO_API");
    return faults;
  }

  const std::size_t size_;
  descriptor faults_;
  unsigned char* page_ = nullptr;
};

}  // namespace

void page_fault() {
  late_page page;
  const alarm end([&] { page.serve(42); });
  if (page.read() != 42) throw std::runtime_error("the page came without its contents");
}

}  // namespace unstoppable
