// Starts and reaps processes, and gives orders to the starter.
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE  // For pipe2, wait4 and posix_spawn_file_actions_addchdir_np.
#endif

#include "CBatonProcess.h"
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <unistd.h>

#if defined(__linux__)
#include <sys/epoll.h>
#include <sys/syscall.h>
#endif

enum { MOST = 64 };

int baton_pipe(int *reading, int *writing, int own_is_reading) {
  int ends[2];
#if defined(__linux__)
  if (pipe2(ends, O_CLOEXEC) != 0) return errno;
#else
  if (pipe(ends) != 0) return errno;
  for (int index = 0; index < 2; index++) fcntl(ends[index], F_SETFD, FD_CLOEXEC);
#endif
  fcntl(ends[own_is_reading ? 0 : 1], F_SETFL, (own_is_reading ? O_RDONLY : O_WRONLY) | O_NONBLOCK);
  *reading = ends[0];
  *writing = ends[1];
  return 0;
}

// The attributes of a process that is started.
static int set_attributes(posix_spawnattr_t *attributes) {
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  short flags = POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
#if defined(POSIX_SPAWN_CLOEXEC_DEFAULT)
  flags |= POSIX_SPAWN_CLOEXEC_DEFAULT;
#endif
  int error = posix_spawnattr_setflags(attributes, flags);
  if (error == 0) error = posix_spawnattr_setpgroup(attributes, 0);
  if (error == 0) error = posix_spawnattr_setsigmask(attributes, &none);
  if (error == 0) error = posix_spawnattr_setsigdefault(attributes, &all);
  return error;
}

// Closes what the process must not get. Everything of this program is closed on exec, but other code may be in it.
static int close_others(posix_spawn_file_actions_t *actions, const int *numbers, int count, int largest) {
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 34)
  for (int number = 3; number < largest; number++) {
    int is_given = 0;
    for (int index = 0; index < count; index++) is_given |= numbers[index] == number;
    int error = is_given ? 0 : posix_spawn_file_actions_addclose(actions, number);
    if (error != 0) return error;
  }
  return posix_spawn_file_actions_addclosefrom_np(actions, largest + 1);
#else
  (void)actions;
  (void)numbers;
  (void)count;
  (void)largest;
  return 0;
#endif
}

// The parameters of `baton_spawn`, and its results.
struct start {
  const char *program, *directory;
  char *const *arguments, *const *environment;
  const int *numbers;
  int sources[MOST], count, largest, niceness, pid, error;
};

static int spawn(struct start *start) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  int error = posix_spawn_file_actions_init(&actions);
  if (error != 0) return error;
  error = posix_spawnattr_init(&attributes);
  if (error == 0) {
    error = set_attributes(&attributes);
    if (error == 0) error = posix_spawn_file_actions_addchdir_np(&actions, start->directory);
    for (int index = 0; index < start->count && error == 0; index++)
      error = posix_spawn_file_actions_adddup2(&actions, start->sources[index], start->numbers[index]);
    if (error == 0) error = close_others(&actions, start->numbers, start->count, start->largest);
    if (error == 0)
      error = posix_spawn(
          &start->pid, start->program, &actions, &attributes, start->arguments, start->environment);
    posix_spawnattr_destroy(&attributes);
  }
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

#if defined(__linux__)
static void *spawn_nicely(void *argument) {
  struct start *start = argument;
  setpriority(PRIO_PROCESS, 0, start->niceness);
  start->error = spawn(start);
  return NULL;
}
#endif

// Starts the process with the nice value. On Linux a nice value belongs to a thread, and a process gets that of the
// thread that starts it (setpriority(2), sched(7)). This thread could not lower its own again, so another one does it.
static int spawn_with_niceness(struct start *start) {
#if defined(__linux__)
  if (start->niceness != INT_MIN) {
    pthread_t thread;
    int error = pthread_create(&thread, NULL, spawn_nicely, start);
    if (error != 0) return error;
    pthread_join(thread, NULL);
    return start->error;
  }
#endif
  return spawn(start);
}

int baton_spawn(
    const char *program, char *const arguments[], char *const environment[], const char *directory,
    const int *sources, const int *numbers, int count, int niceness, int *pid) {
  if (count > MOST) return EINVAL;
  struct start start = {
      .program = program, .directory = directory, .arguments = arguments, .environment = environment,
      .numbers = numbers, .count = count, .largest = 2, .niceness = niceness};
  for (int index = 0; index < count; index++)
    if (numbers[index] > start.largest) start.largest = numbers[index];
  // Above all numbers that the process gets, no descriptor is in the way of another one.
  int done = 0, error = 0;
  for (; done < count && error == 0; done++) {
    start.sources[done] = fcntl(sources[done], F_DUPFD_CLOEXEC, start.largest + 1);
    if (start.sources[done] < 0) error = errno;
    if (error != 0) break;
  }
  if (error == 0) error = spawn_with_niceness(&start);
  if (error == 0) *pid = start.pid;
  for (int index = 0; index < done; index++) close(start.sources[index]);
  return error;
}

int baton_process_descriptor(int pid) {
#if defined(__linux__)
  // The number is the same on all architectures. Headers of a build machine may be older.
  return (int)syscall(434, pid, 0);
#else
  (void)pid;
  return -1;
#endif
}

int baton_reap(int pid, int *status, long long *microseconds) {
  struct rusage use;
  int ended;
  do ended = wait4(pid, status, WNOHANG, &use);
  while (ended < 0 && errno == EINTR);
  if (ended > 0)
    *microseconds = (use.ru_utime.tv_sec + use.ru_stime.tv_sec) * 1000000ll + use.ru_utime.tv_usec +
                    use.ru_stime.tv_usec;
  return ended;
}

static int send_all(int socket, const void *bytes, size_t count) {
  while (count > 0) {
    ssize_t sent = send(socket, bytes, count, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return errno;
    bytes = (const char *)bytes + sent;
    count -= (size_t)sent;
  }
  return 0;
}

int baton_send_order(
    int socket, const struct baton_order *order, const int *descriptors, const void *texts, unsigned long count) {
  struct iovec parts[2] = {
      {.iov_base = (void *)order, .iov_len = sizeof *order}, {.iov_base = (void *)texts, .iov_len = count}};
  union {
    struct cmsghdr header;
    char room[CMSG_SPACE(sizeof(int) * MOST)];
  } control;
  if (order->descriptors < 1 || order->descriptors > MOST) return EINVAL;
  memset(&control, 0, sizeof control);
  // The first part alone carries the descriptors. With small texts everything goes at once.
  struct msghdr message = {.msg_iov = parts, .msg_iovlen = count <= 32768 ? 2 : 1, .msg_control = &control};
  message.msg_controllen = (unsigned)CMSG_SPACE(sizeof(int) * order->descriptors);
  struct cmsghdr *header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = (unsigned)CMSG_LEN(sizeof(int) * order->descriptors);
  memcpy(CMSG_DATA(header), descriptors, sizeof(int) * order->descriptors);
  ssize_t sent;
  do sent = sendmsg(socket, &message, MSG_NOSIGNAL);
  while (sent < 0 && errno == EINTR);
  if (sent < 0) return errno;
  size_t done = (size_t)sent;
  if (done < sizeof *order) {
    int error = send_all(socket, (const char *)order + done, sizeof *order - done);
    if (error != 0) return error;
    done = sizeof *order;
  }
  done -= sizeof *order;
  return send_all(socket, (const char *)texts + done, count - done);
}

int baton_receive_answer(int socket, struct baton_answer *answer) {
  for (size_t done = 0; done < sizeof *answer;) {
    ssize_t count = recv(socket, (char *)answer + done, sizeof *answer - done, 0);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    if (count == 0) return EPIPE;
    done += (size_t)count;
  }
  return 0;
}

int baton_socket_pair(int *first, int *second, int seconds) {
  int ends[2];
#if defined(__linux__)
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return errno;
#else
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return errno;
  for (int index = 0; index < 2; index++) fcntl(ends[index], F_SETFD, FD_CLOEXEC);
#endif
  struct timeval patience = {.tv_sec = seconds};
  setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  setsockopt(ends[0], SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  *first = ends[0];
  *second = ends[1];
  return 0;
}

#if defined(__linux__)
int baton_poller_make(void) { return epoll_create1(EPOLL_CLOEXEC); }

int baton_poller_add(int poller, int descriptor, int writing, unsigned long long number) {
  struct epoll_event event = {.events = writing ? EPOLLOUT : EPOLLIN, .data.u64 = number};
  return epoll_ctl(poller, EPOLL_CTL_ADD, descriptor, &event) == 0 ? 0 : errno;
}

void baton_poller_remove(int poller, int descriptor) { epoll_ctl(poller, EPOLL_CTL_DEL, descriptor, NULL); }

int baton_poller_wait(int poller, unsigned long long *numbers, int most) {
  struct epoll_event events[64];
  int count;
  do count = epoll_wait(poller, events, most < 64 ? most : 64, -1);
  while (count < 0 && errno == EINTR);
  for (int index = 0; index < count; index++) numbers[index] = events[index].data.u64;
  return count;
}
#else
int baton_poller_make(void) {
  errno = ENOSYS;
  return -1;
}

int baton_poller_add(int poller, int descriptor, int writing, unsigned long long number) { return ENOSYS; }
void baton_poller_remove(int poller, int descriptor) {}

int baton_poller_wait(int poller, unsigned long long *numbers, int most) {
  errno = ENOSYS;
  return -1;
}
#endif
