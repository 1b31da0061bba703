// sqlite.cpp — SQLite sleeps and tries again while another process holds the lock of its file.
#include "unstoppable.hpp"

#ifdef WEFT_EXAMPLE_SQLITE

#include <sqlite3.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "alarm.hpp"
#include "files.hpp"
#include "processes.hpp"

namespace unstoppable {

namespace {

class scratch {
 public:
  scratch() : path_((std::filesystem::temp_directory_path() / "weft-unstoppable-XXXXXX").string()) {
    if (!mkdtemp(path_.data())) throw_errno("mkdtemp");
  }
  ~scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  scratch(const scratch&) = delete;
  scratch& operator=(const scratch&) = delete;
  std::string file(const char* name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

class database {
 public:
  explicit database(const char* path) {
    sqlite3* opened = nullptr;
    const int result = sqlite3_open(path, &opened);
    handle_.reset(opened);
    check(result);
  }
  void run(const char* text) { check(sqlite3_exec(handle_.get(), text, nullptr, nullptr, nullptr)); }
  void wait_at_most(int milliseconds) { check(sqlite3_busy_timeout(handle_.get(), milliseconds)); }

 private:
  struct closer {
    void operator()(sqlite3* handle) const { sqlite3_close(handle); }
  };
  void check(int result) {
    if (result == SQLITE_OK) return;
    throw std::runtime_error(std::string("SQLite: ") + sqlite3_errmsg(handle_.get()));
  }
  std::unique_ptr<sqlite3, closer> handle_;
};

// This program once more, as the holder of the lock.
class holder {
 public:
  explicit holder(const std::string& path) {
    const char* const program[] = {"/proc/self/exe", "--hold-sqlite-lock", path.c_str(), nullptr};
    pipe_ends input, output;
    child_ = start_program(program, input.reading.get(), output.writing.get());
    keep_ = std::move(input.writing);
    output.writing.close();
    char ready;
    if (read(output.reading.get(), &ready, 1) != 1) throw std::runtime_error("the other process has no lock");
  }
  ~holder() {
    let_go();
    end_of(child_);
  }
  holder(const holder&) = delete;
  holder& operator=(const holder&) = delete;
  void let_go() { keep_.close(); }

 private:
  pid_t child_;
  descriptor keep_;   // the other process ends when this closes
};

}  // namespace

void sqlite_lock() {
  const scratch here;
  const std::string path = here.file("table.db");
  database table(path.c_str());
  table.run("CREATE TABLE t (n INTEGER)");
  table.wait_at_most(10'000);
  holder other(path);
  const alarm end([&] { other.let_go(); });
  table.run("INSERT INTO t VALUES (1)");
}

int hold_sqlite_lock(const char* path) try {
  database table(path);
  table.run("BEGIN EXCLUSIVE");
  char end;
  if (write(STDOUT_FILENO, "x", 1) == 1 && read(STDIN_FILENO, &end, 1) == 0) table.run("COMMIT");
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "weft-unstoppable: the other process: %s\n", error.what());
  return 1;
}

}  // namespace unstoppable

#else

namespace unstoppable {

void sqlite_lock() { throw skipped("built without SQLite"); }
int hold_sqlite_lock(const char*) { return 1; }

}  // namespace unstoppable

#endif
