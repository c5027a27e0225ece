/* Planted bugs: preloaded into Baton's processes, each makes the one named by FAULT_PLANT behave as if it had that bug.
   plants.py says which row has to catch which. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define REAL(name) static __typeof__(&name) real; if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

static char plant[64];

static int is(const char *name) { return strcmp(plant, name) == 0; }

__attribute__((constructor)) static void begin(void) {
  const char *name = getenv("FAULT_PLANT");
  if (name) strncpy(plant, name, sizeof plant - 1);
  if (is("slow-start")) sleep(10);
}

/* ---- The disk */

/* no-sync: what is acknowledged is not on the disk. stalls-with-disk: nobody is answered while the disk is busy.
   swallows-eio: the disk failed, and nobody is told. */
static pthread_mutex_t stall = PTHREAD_MUTEX_INITIALIZER;

static int synced(int file, int (*real)(int)) {
  if (is("no-sync")) return 0;
  if (is("stalls-with-disk")) pthread_mutex_lock(&stall);
  int result = real(file);
  if (is("stalls-with-disk")) pthread_mutex_unlock(&stall);
  if (is("swallows-eio") && result != 0) return 0;
  return result;
}

int fsync(int file) { REAL(fsync); return synced(file, real); }
int fdatasync(int file) { REAL(fdatasync); return synced(file, real); }

int epoll_wait(int file, struct epoll_event *events, int most, int timeout) {
  REAL(epoll_wait);
  int result = real(file, events, most, timeout);
  if (is("stalls-with-disk")) {
    pthread_mutex_lock(&stall);
    pthread_mutex_unlock(&stall);
  }
  return result;
}

/* swallows-full: as if the write had been made. */
ssize_t pwrite64(int file, const void *bytes, size_t size, off64_t at) {
  REAL(pwrite64);
  ssize_t result = real(file, bytes, size, at);
  if (result < 0 && ((errno == ENOSPC && is("swallows-full")) || (errno == EIO && is("swallows-eio")))) return (ssize_t)size;
  return result;
}

/* ---- SQLite */

typedef struct sqlite3 sqlite3;
enum { SQLITE_CORRUPT = 11, SQLITE_NOTADB = 26 };
int sqlite3_errcode(sqlite3 *) __attribute__((weak));
const char *sqlite3_errmsg(sqlite3 *);

/* traps-on-damage: whoever asks what is wrong with a damaged file is ended. */
const char *sqlite3_errmsg(sqlite3 *database) {
  REAL(sqlite3_errmsg);
  int code = database ? sqlite3_errcode(database) & 0xff : 0;
  if (is("traps-on-damage") && (code == SQLITE_CORRUPT || code == SQLITE_NOTADB)) raise(SIGILL);
  return real(database);
}

/* ---- Time: wall-clock: what should be steady follows the wall clock. */

int clock_gettime(clockid_t clock, struct timespec *time) {
  REAL(clock_gettime);
  if (is("wall-clock") && clock == CLOCK_BOOTTIME) clock = CLOCK_REALTIME;
  return real(clock, time);
}

/* ---- Processes: group-kill-only: what left the group of its command stays. */

int kill(pid_t pid, int number) {
  REAL(kill);
  if (is("group-kill-only") && pid > 0 && number == SIGKILL) return 0;
  return real(pid, number);
}

/* ---- Connections: leaks-sockets: some are never closed. traps-on-garbage: some bytes end the process. */

int close(int file) {
  REAL(close);
  static _Atomic int count;
  struct stat info;
  if (is("leaks-sockets") && fstat(file, &info) == 0 && S_ISSOCK(info.st_mode) && ++count % 20 == 0) return 0;
  return real(file);
}

ssize_t read(int file, void *bytes, size_t size) {
  REAL(read);
  ssize_t result = real(file, bytes, size);
  struct stat info;
  if (result > 0 && is("traps-on-garbage") && fstat(file, &info) == 0 && S_ISSOCK(info.st_mode) &&
      ((unsigned char *)bytes)[0] >= 0xe0)
    raise(SIGILL);
  if (result > 0 && is("traps-on-alias") && memmem(bytes, (size_t)result, "*a", 2)) raise(SIGILL);
  return result;
}

/* ---- Transfers: halves-files: a file that has arrived gets its final name with half of its bytes. asks-for-no-ranges:
   what has arrived is fetched again. */

int linkat(int folder, const char *name, int other, const char *other_name, int flags) {
  REAL(linkat);
  struct stat info;
  if (is("halves-files") && fstatat(folder, name, &info, 0) == 0) {
    int file = openat(folder, name, O_WRONLY);
    if (file >= 0) {
      if (ftruncate(file, info.st_size / 2) != 0) raise(SIGILL);
      close(file);
    }
  }
  return real(folder, name, other, other_name, flags);
}

static void hide_range(void *bytes, size_t size) {
  char *field = is("asks-for-no-ranges") ? memmem(bytes, size, "\r\nRange: bytes=", 15) : NULL;
  if (field) field[2] = 'X';
}

ssize_t write(int file, const void *bytes, size_t size) {
  REAL(write);
  hide_range((void *)bytes, size);
  return real(file, bytes, size);
}

ssize_t writev(int file, const struct iovec *parts, int count) {
  REAL(writev);
  for (int part = 0; part < count; part++) hide_range(parts[part].iov_base, parts[part].iov_len);
  return real(file, parts, count);
}
