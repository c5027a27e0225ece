#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif

#include "fence.h"

#include <sys/resource.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <unistd.h>

enum { MOST = 64 };

// Moves every descriptor above the numbers up to `last`, so that none of them is in the way of another one.
static int move_up(int *descriptors, int count, int last) {
  for (int index = 0; index < count; index++) {
    int moved = fcntl(descriptors[index], F_DUPFD, last + 1);
    if (moved < 0) return -1;
    close(descriptors[index]);
    descriptors[index] = moved;
  }
  return 0;
}

// Gives a descriptor its number. `dup2` clears the flag that would close it on exec.
static int place(int descriptor, int number) {
  if (dup2(descriptor, number) < 0) return -1;
  close(descriptor);
  return 0;
}

int place_descriptors(int *descriptors, const int *numbers, int count) {
  int last = 2;
  for (int index = 0; index < count; index++)
    if (numbers[index] > last) last = numbers[index];
  if (move_up(descriptors, count, last) != 0) return -1;
  for (int index = 0; index < count; index++)
    if (place(descriptors[index], numbers[index]) != 0) return -1;
  return 0;
}

struct problem forbid_core_dumps(void) {
  struct rlimit none = {0, 0};
  // PR_SET_DUMPABLE would not help: execve(2) sets it again.
  if (setrlimit(RLIMIT_CORE, &none) != 0) return (struct problem){"the limit on core dumps", errno};
  return (struct problem){NULL, 0};
}

// A pipe belongs to the user that made it, and a program that opens /dev/stdout opens it again.
static void give_pipes(const struct user *user) {
  struct stat status;
  for (int descriptor = 0; descriptor < MOST; descriptor++)
    if (fstat(descriptor, &status) == 0 && S_ISFIFO(status.st_mode) && fchown(descriptor, user->id, user->group) != 0)
      continue;  // The descriptor itself works all the same.
}

struct problem become(const struct user *user) {
  give_pipes(user);
  if (setgroups(user->count, user->groups) != 0) return (struct problem){"the groups of the user", errno};
  if (setgid(user->group) != 0 || setuid(user->id) != 0) return (struct problem){"the user", errno};
  // setuid(2) of root changes all three ids. A way back would be a way to root.
  if (setuid(0) == 0 || getuid() != user->id || geteuid() != user->id || getegid() != user->group)
    return (struct problem){"the user", EPERM};
  return (struct problem){NULL, 0};
}
