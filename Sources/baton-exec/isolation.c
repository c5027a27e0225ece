#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE  // For O_PATH and unshare.
#endif

#include "fence.h"

#include <errno.h>

#if defined(__linux__)
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// The calls for mounts (mount_setattr(2) is in Linux 5.12). The numbers are the same on all architectures.
enum { OPEN_TREE = 428, MOVE_MOUNT = 429, CLOSE_RANGE = 436, MOUNT_SETATTR = 442 };
enum { CLONE_TREE = 1, RECURSIVE = 0x8000, FROM_DESCRIPTOR = 4, READ_ONLY = 1 };

struct mount_attributes {
  uint64_t set, clear, propagation, user_namespace;
};

static struct problem failure(const char *what) { return (struct problem){what, errno}; }

// A copy of the mounts at the path, which can be put elsewhere; -1 if there is no such path. A link is not followed.
static int copy_of(int folder, const char *path) {
  int place = openat(folder, path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
  if (place < 0) return -1;
  int copy = (int)syscall(OPEN_TREE, place, "", CLONE_TREE | RECURSIVE | AT_EMPTY_PATH | O_CLOEXEC);
  close(place);
  return copy;
}

static int put(int copy, const char *path) {
  int result = (int)syscall(MOVE_MOUNT, copy, "", AT_FDCWD, path, FROM_DESCRIPTOR);
  close(copy);
  return result;
}

// Whether the command may write to the path anyway, because it is in the launch's folder or in another such path. The
// root of the file system never becomes writable.
static int is_included(const struct paths *writable, size_t index, const struct paths *kept) {
  const char *path = writable->list[index];
  if (strcmp(path, "/") == 0) return 1;
  for (size_t other = 0; other < kept->count; other++)
    if (is_in(path, kept->list[other])) return 1;
  for (size_t other = 0; other < writable->count; other++) {
    if (other == index || strcmp(writable->list[other], "/") == 0 || !is_in(path, writable->list[other])) continue;
    if (other < index || strcmp(path, writable->list[other]) != 0) return 1;
  }
  return 0;
}

// A copy of the launch's folder for temporary files. It is made again if a command has removed it.
static int copy_of_temporary(const char *launch) {
  int folder = open(launch, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder < 0) return -1;
  mkdirat(folder, "tmp", 0700);
  int copy = copy_of(folder, "tmp");
  close(folder);
  return copy;
}

// Puts the launch's folder for temporary files, or an empty one if there is none, in the place of a shared folder.
static struct problem replace_temporary(const char *path, int copy) {
  struct stat status;
  if (lstat(path, &status) != 0 || !S_ISDIR(status.st_mode)) return (struct problem){NULL, 0};
  int result = copy >= 0 ? put(copy, path)
                         : mount("none", path, "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777,size=64m");
  return result == 0 ? (struct problem){NULL, 0} : failure("its own /tmp");
}

static struct problem make_read_only(void) {
  struct mount_attributes attributes = {.set = READ_ONLY};
  if (syscall(MOUNT_SETATTR, AT_FDCWD, "/", RECURSIVE, &attributes, sizeof attributes) != 0)
    return failure("a file system that cannot be written");
  return (struct problem){NULL, 0};
}

static struct problem put_back(int copy, const char *path, int is_folder) {
  // A path below /tmp has lost its place with the shared /tmp.
  make_place(path, is_folder);
  if (put(copy, path) != 0) return failure("a folder that can be written");
  return (struct problem){NULL, 0};
}

// What can be written is copied before everything becomes read-only, and after the hidden paths have been covered: so
// no copy shows what is hidden.
static struct problem confine_writing(const struct paths *writable, const struct paths *kept) {
  struct problem problem = {NULL, 0};
  struct stat status;
  int *copies = calloc(writable->count + kept->count + 1, sizeof(int)), *launches = copies + writable->count;
  if (copies == NULL) return (struct problem){"memory", ENOMEM};
  for (size_t index = 0; index < writable->count; index++)
    copies[index] = is_included(writable, index, kept) ? -1 : copy_of(AT_FDCWD, writable->list[index]);
  for (size_t index = 0; index < kept->count; index++)
    if ((launches[index] = copy_of(AT_FDCWD, kept->list[index])) < 0) return failure("the launch's folder");
  // The folder of the launch may be in /tmp: it has to be copied for both places before /tmp is covered.
  int temporary[2] = {-1, -1};
  for (int index = 0; index < 2 && kept->count > 0; index++)
    if ((temporary[index] = copy_of_temporary(kept->list[0])) < 0) return failure("the launch's folder 'tmp'");
  problem = make_read_only();
  if (problem.what == NULL) problem = replace_temporary("/var/tmp", temporary[0]);
  if (problem.what == NULL) problem = replace_temporary("/tmp", temporary[1]);
  if (problem.what == NULL && lstat("/dev/shm", &status) == 0 && S_ISDIR(status.st_mode) &&
      mount("none", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777,size=64m") != 0)
    problem = failure("its own shared memory");
  for (size_t index = 0; index < writable->count && problem.what == NULL; index++)
    if (copies[index] >= 0 && fstat(copies[index], &status) == 0)
      problem = put_back(copies[index], writable->list[index], S_ISDIR(status.st_mode));
  for (size_t index = 0; index < kept->count && problem.what == NULL; index++)
    problem = put_back(launches[index], kept->list[index], 1);
  return problem;
}

static struct problem confine_files(const struct paths *hidden, const struct paths *kept, const struct paths *writable) {
  if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) return failure("mounts of its own");
  struct problem problem = hide_with_mounts(hidden, kept);
  if (problem.what != NULL) return problem;
  if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) != 0) return failure("its own /proc");
  return confine_writing(writable, kept);
}

// Closes everything but one descriptor, which becomes number 0: the pipes of the command must end with the command.
static void keep_only(int descriptor) {
  dup2(descriptor, 0);
  syscall(CLOSE_RANGE, 1u, ~0u, 0u);
}

// Ends as the process ended that has this status.
static void end_as(int status) {
  sigset_t signals;
  if (WIFEXITED(status)) _exit(WEXITSTATUS(status));
  signal(WTERMSIG(status), SIG_DFL);
  sigemptyset(&signals);
  sigaddset(&signals, WTERMSIG(status));
  kill(getpid(), WTERMSIG(status));
  sigprocmask(SIG_UNBLOCK, &signals, NULL);
  _exit(128 + WTERMSIG(status));
}

// The first process of the launch's namespaces, for the rest of its life: it reaps orphans. When it ends, the system
// kills all others and waits until they are gone.
static void reap(pid_t command, int report) {
  int status;
  keep_only(report);
  for (;;) {
    pid_t ended = wait(&status);
    if (ended < 0 && errno != EINTR) _exit(1);
    if (ended != command) continue;
    if (write(0, &status, sizeof status) != sizeof status) _exit(1);
    _exit(0);
  }
}

// The process that the worker started: it ends when the first process has ended, as the command ended.
static void wait_for(pid_t first) {
  int status, end;
  ssize_t length;
  do length = read(0, &status, sizeof status);
  while (length < 0 && errno == EINTR);
  while (waitpid(first, &end, 0) < 0 && errno == EINTR) {}
  end_as(length == sizeof status ? status : end);
}

// Dies with the parent, also if it is gone already.
static void die_with_parent(int life) {
  struct pollfd end = {.fd = life, .events = 0};
  if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0 || poll(&end, 1, 0) != 0) _exit(1);
}

struct problem isolate(
    const struct paths *hidden, const struct paths *kept, const struct paths *writable, int network,
    void (*forget)(void)) {
  sigset_t all, before;
  int report[2], life[2];
  if (separate(CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | (network ? CLONE_NEWNET : 0)) != 0)
    return failure("namespaces");
  if (pipe2(report, O_CLOEXEC) != 0 || pipe2(life, O_CLOEXEC) != 0) return failure("a pipe");
  // A signal for the whole process group is for the command. What waits for the command must not end by it.
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before);
  pid_t first = fork();
  if (first < 0) return failure("a process");
  if (first > 0) {
    forget();
    // `life` stays open in this process, as number 1, until it ends.
    close(report[1]);
    close(life[0]);
    dup2(report[0], 0);
    dup2(life[1], 1);
    syscall(CLOSE_RANGE, 2u, ~0u, 0u);
    wait_for(first);
  }
  close(report[0]);
  close(life[1]);
  die_with_parent(life[0]);
  close(life[0]);
  struct problem problem = confine_files(hidden, kept, writable);
  if (problem.what != NULL) return problem;
  pid_t command = fork();
  if (command < 0) return failure("a process");
  if (command > 0) {
    forget();
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    reap(command, report[1]);
  }
  close(report[1]);
  sigprocmask(SIG_SETMASK, &before, NULL);
  return problem;
}

// Whether /proc shows only the two processes of the launch: the first one, and this one.
static int sees_others(void) {
  DIR *folder = opendir("/proc");
  struct dirent *entry;
  int count = 0;
  if (folder == NULL) return 1;
  while ((entry = readdir(folder)) != NULL)
    if (entry->d_name[0] >= '0' && entry->d_name[0] <= '9') count++;
  closedir(folder);
  return count != 2;
}

static int reaches_network(void) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(9)};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int endpoint = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  return endpoint >= 0 && (connect(endpoint, (struct sockaddr *)&address, sizeof address) == 0 || errno != ENETUNREACH);
}

const char *gap_in_isolation(void) {
  struct statvfs status;
  if (getpid() == 1 || getppid() != 1) return "has no processes of its own";
  if (sees_others()) return "sees other processes";
  if (statvfs("/", &status) != 0 || (status.f_flag & ST_RDONLY) == 0) return "can write to the file system";
  if (access("/tmp", W_OK) != 0) return "has no /tmp";
  if (reaches_network()) return "reaches a network";
  if (unshare(CLONE_NEWUSER) == 0 || errno != EPERM) return "can make namespaces";
  return NULL;
}

#else
const char *gap_in_isolation(void) { return "has no namespaces"; }

struct problem isolate(
    const struct paths *hidden, const struct paths *kept, const struct paths *writable, int network,
    void (*forget)(void)) {
  (void)hidden;
  (void)kept;
  (void)writable;
  (void)network;
  (void)forget;
  return (struct problem){"namespaces", ENOSYS};
}
#endif
