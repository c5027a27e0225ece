/* Preloaded into a coordinator: a clock that can be moved, and a disk of the store that fails, fills, waits, or ends the
   process at a chosen write, commit, or answer. What it shall do stands in a file that both sides have mapped; FAULT_CONTROL names it.

   Only files whose name contains FAULT_PATH (default: baton.sqlite) are touched. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

/* Keep in step with shim.py. Counts are of calls since the process started. */
struct control {
  _Atomic int64_t clock_offset; /* nanoseconds, added to CLOCK_REALTIME */
  _Atomic int64_t writes, syncs, commits, landed;
  _Atomic int64_t write_from, write_left; /* so many writes fail, from this one on */
  _Atomic int64_t write_error;
  _Atomic int64_t sync_from, sync_left; /* the same with syncs */
  _Atomic int64_t sync_at;              /* which: 0 all of them, 1 those of commits, 2 the others */
  _Atomic int64_t sync_error;           /* 0: no failure, only the delay */
  _Atomic int64_t sync_delay;           /* nanoseconds */
  /* The process ends at this commit or call, or at the next one that there is; 0 for never. */
  _Atomic int64_t kill_after_commit, kill_before_commit, kill_before_answer, kill_after_write, kill_in_checkpoint;
  _Atomic int64_t clock_reads;
  _Atomic int64_t landed_at_commit; /* of those that landed */
};

static struct control *control;
static const char *watched = "baton.sqlite";

__attribute__((constructor)) static void begin(void) {
  const char *path = getenv("FAULT_CONTROL");
  if (getenv("FAULT_PATH")) watched = getenv("FAULT_PATH");
  if (!path) return;
  int file = open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) _exit(99);
  void *memory = mmap(NULL, sizeof(struct control), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (memory == MAP_FAILED) _exit(99);
  control = memory;
  atomic_store(&control->writes, 0);
  atomic_store(&control->syncs, 0);
  atomic_store(&control->commits, 0);
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

/* 0, or 1 for a file that is watched, 2 if it is the write-ahead log. */
static int is_watched(int file) {
  char link[64], path[4096];
  if (!control) return 0;
  static const char prefix[] = "/proc/self/fd/";
  memcpy(link, prefix, sizeof prefix);
  char digits[16];
  int length = 0, number = file;
  do digits[length++] = '0' + number % 10; while (number /= 10);
  for (int i = 0; i < length; i++) link[sizeof prefix - 1 + i] = digits[length - 1 - i];
  link[sizeof prefix - 1 + length] = 0;
  ssize_t size = readlink(link, path, sizeof path - 1);
  if (size < 0) return 0;
  path[size] = 0;
  return strstr(path, watched) == NULL ? 0 : strstr(path, "-wal") ? 2 : 1;
}

static void land(void) { atomic_fetch_add(&control->landed, 1); }

static void end_process(void) {
  land();
  kill(getpid(), SIGKILL);
  for (;;) pause();
}

/* True for as many calls as are left of it. Whoever arms a fault is never too late: it hits the next call at the latest. */
static int takes(_Atomic int64_t *left) {
  int64_t now = atomic_load(left);
  while (now > 0)
    if (atomic_compare_exchange_weak(left, &now, now - 1)) return 1;
  return 0;
}

static int is_due(_Atomic int64_t *target, int64_t number) {
  int64_t at = atomic_load(target);
  return at != 0 && number >= at;
}

/* The log holds something that was not synced: the next sync of it is that of a commit. A checkpoint syncs the log too,
   before it copies from it, and then nobody's answer hangs on that. */
static _Atomic int is_dirty;
/* A commit is on the disk, and the process ends when the next answer is about to leave it. */
static _Atomic int is_doomed;

/* The error of this write, or 0. */
static int write_fault(int64_t *number, int kind) {
  *number = atomic_fetch_add(&control->writes, 1) + 1;
  if (kind == 2) atomic_store(&is_dirty, 1);
  if (*number < atomic_load(&control->write_from) || !takes(&control->write_left)) return 0;
  land();
  if (kind == 2) atomic_fetch_add(&control->landed_at_commit, 1);
  return (int)atomic_load(&control->write_error);
}

static ssize_t written(ssize_t result, int64_t number) {
  if (number && is_due(&control->kill_after_write, number)) end_process();
  return result;
}

static void answers(int file) {
  struct stat info;
  if (control && atomic_load(&is_doomed) && fstat(file, &info) == 0 && S_ISSOCK(info.st_mode)) end_process();
}

#define WRITE(name, parameters, arguments)                                     \
  ssize_t name parameters {                                                    \
    static __typeof__(&name) real;                                             \
    if (!real) real = REAL(name);                                              \
    int64_t number = 0;                                                        \
    answers(file);                                                             \
    int kind = is_watched(file);                                               \
    if (kind) {                                                                \
      int error = write_fault(&number, kind);                                  \
      if (error) { errno = error; return -1; }                                 \
    }                                                                          \
    return written(real arguments, number);                                    \
  }

WRITE(write, (int file, const void *bytes, size_t size), (file, bytes, size))
WRITE(pwrite, (int file, const void *bytes, size_t size, off_t at), (file, bytes, size, at))
WRITE(pwrite64, (int file, const void *bytes, size_t size, off64_t at), (file, bytes, size, at))

ssize_t writev(int file, const struct iovec *parts, int count) {
  static __typeof__(&writev) real;
  if (!real) real = REAL(writev);
  answers(file);
  return real(file, parts, count);
}

ssize_t sendmsg(int file, const struct msghdr *message, int flags) {
  static __typeof__(&sendmsg) real;
  if (!real) real = REAL(sendmsg);
  answers(file);
  return real(file, message, flags);
}

static void wait_for(int64_t nanoseconds) {
  struct timespec left = {nanoseconds / 1000000000, nanoseconds % 1000000000};
  while (nanosleep(&left, &left) != 0 && errno == EINTR) {}
}

static int synced(int file, int (*real)(int)) {
  int kind = is_watched(file);
  if (!kind) return real(file);
  int64_t number = atomic_fetch_add(&control->syncs, 1) + 1;
  int is_commit = kind == 2 && atomic_exchange(&is_dirty, 0);
  int64_t commit = is_commit ? atomic_fetch_add(&control->commits, 1) + 1 : 0;
  if (is_commit && is_due(&control->kill_before_commit, commit)) end_process();
  if (!is_commit && is_due(&control->kill_in_checkpoint, number)) end_process();
  int64_t delay = atomic_load(&control->sync_delay);
  if (delay > 0) { land(); wait_for(delay); }
  int error = (int)atomic_load(&control->sync_error);
  int64_t at = atomic_load(&control->sync_at);
  if (error && (at == 0 || (at == 1) == is_commit) && number >= atomic_load(&control->sync_from) &&
      takes(&control->sync_left)) {
    land();
    if (is_commit) atomic_fetch_add(&control->landed_at_commit, 1);
    errno = error;
    return -1;
  }
  int result = real(file);
  if (is_commit && is_due(&control->kill_after_commit, commit)) end_process();
  if (is_commit && is_due(&control->kill_before_answer, commit)) atomic_store(&is_doomed, 1);
  return result;
}

int fsync(int file) {
  static int (*real)(int);
  if (!real) real = REAL(fsync);
  return synced(file, real);
}

int fdatasync(int file) {
  static int (*real)(int);
  if (!real) real = REAL(fdatasync);
  return synced(file, real);
}

/* ---- The wall clock */

static void move(struct timespec *time) {
  int64_t offset = atomic_load(&control->clock_offset);
  int64_t nanoseconds = time->tv_nsec + offset % 1000000000;
  time->tv_sec += offset / 1000000000 + (nanoseconds >= 1000000000) - (nanoseconds < 0);
  time->tv_nsec = (nanoseconds + 1000000000) % 1000000000;
  atomic_fetch_add(&control->clock_reads, 1);
}

int clock_gettime(clockid_t clock, struct timespec *time) {
  static int (*real)(clockid_t, struct timespec *);
  if (!real) real = REAL(clock_gettime);
  int result = real(clock, time);
  if (control && result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) move(time);
  return result;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
  struct timespec now;
  (void)zone;
  if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
  time->tv_sec = now.tv_sec;
  time->tv_usec = now.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *result) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (result) *result = now.tv_sec;
  return now.tv_sec;
}
