// files.cpp — directories and files through the system calls; errors are told and the rest goes on.
#include "files.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <vector>

namespace wc {

namespace {

// A name may hold anything; a line of text may not.
std::string printable(const std::string& path) {
  std::string text;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7f) {
      text.push_back(c);
    } else {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\%03o", byte);
      text += escaped;
    }
  }
  return text;
}

int type_of(const std::string& path) {
  struct stat s{};
  if (lstat(path.c_str(), &s) != 0) return -1;
  return S_ISREG(s.st_mode) ? DT_REG : S_ISDIR(s.st_mode) ? DT_DIR : DT_LNK;
}

struct directory {
  explicit directory(const std::string& path) : handle(opendir(path.c_str())) {}
  ~directory() {
    if (handle) closedir(handle);
  }
  directory(const directory&) = delete;
  directory& operator=(const directory&) = delete;
  DIR* const handle;
};

// Appends the subdirectories of `folder` to `deeper`.
void list(const std::string& folder, complaints& errors, const std::function<void(std::string)>& found,
          std::vector<std::string>& deeper) {
  const directory dir(folder);
  if (!dir.handle) return errors.add(folder, errno);
  for (;;) {
    errno = 0;
    const dirent* entry = readdir(dir.handle);
    if (!entry) {
      if (errno != 0) errors.add(folder, errno);
      return;
    }
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    std::string path = folder;
    if (!path.ends_with('/')) path += '/';
    path += name;
    const int type = entry->d_type == DT_UNKNOWN ? type_of(path) : entry->d_type;
    if (type == DT_REG) found(std::move(path));
    else if (type == DT_DIR) deeper.push_back(std::move(path));
    else if (type == -1) errors.add(path, errno);
  }
}

}  // namespace

void complaints::add(const std::string& path, int error) {
  char text[128];
  const std::string line = "weft-wc: " + printable(path) + ": " + strerror_r(error, text, sizeof text) + "\n";
  std::fputs(line.c_str(), stderr);
  count_.fetch_add(1);
}

void walk(const std::string& path, complaints& errors, const std::function<void(std::string)>& found) {
  switch (type_of(path)) {
    case -1: return errors.add(path, errno);
    case DT_REG: return found(path);
    case DT_DIR: break;
    default: return;
  }
  std::vector<std::string> folders{path};
  while (!folders.empty()) {
    const std::string next = std::move(folders.back());
    folders.pop_back();
    list(next, errors, found, folders);
  }
}

void reader::read(const std::string& path, tally& sum, std::atomic<std::uint64_t>& progress,
                  complaints& errors) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (fd < 0) return errors.add(path, errno);
  for (;;) {
    const ssize_t got = ::read(fd, buffer_.get(), buffer_size);
    if (got > 0) {
      sum.add(buffer_.get(), static_cast<std::size_t>(got));
      progress.fetch_add(static_cast<std::uint64_t>(got), std::memory_order_relaxed);
    } else if (got == 0) {
      break;
    } else if (errno != EINTR) {
      errors.add(path, errno);   // what was read of it counts, as in wc
      break;
    }
  }
  sum.end_of_file();
  close(fd);
}

}  // namespace wc
