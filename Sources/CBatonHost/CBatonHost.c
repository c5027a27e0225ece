#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif

#include "CBatonHost.h"

#include <errno.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/timex.h>
#include <sys/utsname.h>
#include <unistd.h>

int baton_host_look(const char *path, baton_host_file *file) {
  struct stat status;
  if (stat(path, &status) != 0) return errno;
  file->inode = status.st_ino;
  file->user = status.st_uid;
  file->mode = status.st_mode;
  return 0;
}

int baton_host_measure(const char *path, baton_host_room *room) {
  struct statvfs facts;
  if (statvfs(path, &facts) != 0) return errno;
  room->free_bytes = (long long)facts.f_bavail * (long long)facts.f_frsize;
  room->total_bytes = (long long)facts.f_blocks * (long long)facts.f_frsize;
  // btrfs and other file systems make inodes on demand, and report 0 of 0.
  room->free_files = facts.f_files == 0 ? -1 : (long long)facts.f_favail;
  room->is_read_only = (facts.f_flag & ST_RDONLY) != 0;
  return 0;
}

int baton_host_sync(int file) {
#if defined(__APPLE__)
  return fsync(file) == 0 ? 0 : errno;
#else
  return fdatasync(file) == 0 ? 0 : errno;
#endif
}

int baton_host_clock_is_synchronised(long long *error) {
  struct timex state = {0};
#if defined(__APPLE__)
  int answer = ntp_adjtime(&state);
#else
  int answer = adjtimex(&state);
#endif
  if (answer < 0) return -1;
  *error = state.maxerror;
  return answer != TIME_ERROR && (state.status & STA_UNSYNC) == 0;
}

static long long limit_or_none(rlim_t value) { return value == RLIM_INFINITY ? -1 : (long long)value; }

int baton_host_limit(int which, long long *soft, long long *hard) {
  struct rlimit limit;
  if (getrlimit(which == BATON_HOST_OPEN_FILES ? RLIMIT_NOFILE : RLIMIT_NPROC, &limit) != 0) return errno;
  *soft = limit_or_none(limit.rlim_cur);
  *hard = limit_or_none(limit.rlim_max);
  return 0;
}

int baton_host_system(char *text, int size) {
  struct utsname name;
  if (uname(&name) < 0) return errno;
  snprintf(text, (size_t)size, "%s %s %s", name.sysname, name.release, name.machine);
  return 0;
}
