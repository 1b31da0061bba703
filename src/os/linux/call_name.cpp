// call_name.cpp — names of system calls that block threads, for messages.
#include <sys/syscall.h>

#include "os/os.hpp"

namespace weft::inline v0::rt::os {

const char* call_name(long call) noexcept {
  switch (call) {
    case blocked_in_fault: return "a page fault";
    case SYS_read: return "read";
    case SYS_pread64: return "pread";
    case SYS_readv: return "readv";
    case SYS_write: return "write";
    case SYS_pwrite64: return "pwrite";
    case SYS_writev: return "writev";
    case SYS_openat: return "openat";
    case SYS_fsync: return "fsync";
    case SYS_fdatasync: return "fdatasync";
    case SYS_flock: return "flock";
    case SYS_fcntl: return "fcntl";
    case SYS_ioctl: return "ioctl";
    case SYS_futex: return "futex";
    case SYS_nanosleep: return "nanosleep";
    case SYS_clock_nanosleep: return "clock_nanosleep";
    case SYS_ppoll: return "ppoll";
    case SYS_pselect6: return "pselect";
    case SYS_epoll_pwait: return "epoll_pwait";
    case SYS_accept: return "accept";
    case SYS_accept4: return "accept4";
    case SYS_connect: return "connect";
    case SYS_recvfrom: return "recvfrom";
    case SYS_recvmsg: return "recvmsg";
    case SYS_sendto: return "sendto";
    case SYS_sendmsg: return "sendmsg";
    case SYS_wait4: return "wait4";
    case SYS_waitid: return "waitid";
    case SYS_rt_sigtimedwait: return "sigtimedwait";
    case SYS_rt_sigsuspend: return "sigsuspend";
    case SYS_mmap: return "mmap";
    case SYS_munmap: return "munmap";
#ifdef SYS_poll   // older architectures
    case SYS_poll: return "poll";
    case SYS_select: return "select";
    case SYS_epoll_wait: return "epoll_wait";
    case SYS_open: return "open";
    case SYS_pause: return "pause";
#endif
    default: return nullptr;
  }
}

}  // namespace weft::inline v0::rt::os
