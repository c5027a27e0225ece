// `baton-exec --serve` is the starter: the worker keeps one of them, and it starts a process for each command. To start
// one costs a fork of this small process, and not a program that is loaded only to apply the fence.
//
// The worker sends orders on a socket, and gets an answer to each before it sends the next one. The new process is the
// worker's own child (CLONE_PARENT). It has its process group, and is in its control group, before the worker has the
// answer; then it does what baton-exec does with the words of the order.
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif

#include "fence.h"

#include <errno.h>

#if defined(__linux__)
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

// What the worker and the starter have to agree on. A starter of another version refuses all orders by its greeting.
enum { VERSION = 1, SOCKET = 0, MOST_DESCRIPTORS = 64, CLONE3 = 435 };
enum { MOST_BYTES = 16 << 20 };
#define INTO_GROUP 0x200000000ull

// The first part of an order. The texts follow it, each with a NUL at its end: the working directory, the words, and
// the variables of the environment.
struct order {
  uint32_t bytes, words, variables, descriptors;
  // The nice value; INT32_MIN leaves it as it is.
  int32_t niceness;
  // The number at which the process has the descriptor for the line about a failure.
  int32_t report;
  // 1 if the last descriptor is the folder of the control group for the process, and not one for the process itself.
  uint32_t has_group;
  int32_t numbers[MOST_DESCRIPTORS];
};

struct answer {
  // The new process, or -1.
  int32_t process;
  // The version in the greeting, and elsewhere the errno of a failure.
  int32_t code;
};

// The arguments of clone3(2), as far as they are used here.
struct clone_arguments {
  uint64_t flags, descriptor, child, parent, exit_signal, stack, stack_size, storage, ids, id_count, group;
};

static void close_all(const int *descriptors, int count) {
  for (int index = 0; index < count; index++) close(descriptors[index]);
}

// Reads until `size` bytes are there. Returns 0 at the end, and if the socket fails.
static int receive(void *bytes, size_t size) {
  for (size_t done = 0; done < size;) {
    ssize_t count = recv(SOCKET, (char *)bytes + done, size - done, 0);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return 0;
    done += (size_t)count;
  }
  return 1;
}

// Receives the first part of an order, and the descriptors that came with it.
static int receive_order(struct order *order, int *descriptors, int *count) {
  struct iovec data = {.iov_base = order, .iov_len = sizeof *order};
  union {
    struct cmsghdr header;
    char room[CMSG_SPACE(sizeof(int) * MOST_DESCRIPTORS)];
  } control;
  struct msghdr message = {
      .msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  ssize_t length;
  do length = recvmsg(SOCKET, &message, MSG_CMSG_CLOEXEC);
  while (length < 0 && errno == EINTR);
  *count = 0;
  if (length <= 0 || (message.msg_flags & MSG_CTRUNC) != 0) return 0;
  struct cmsghdr *header = CMSG_FIRSTHDR(&message);
  if (header != NULL && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
    *count = (int)((header->cmsg_len - CMSG_LEN(0)) / sizeof(int));
    memcpy(descriptors, CMSG_DATA(header), sizeof(int) * (unsigned)*count);
  }
  return receive((char *)order + length, sizeof *order - (size_t)length);
}

static int answer(int process, int code) {
  struct answer answer = {.process = process, .code = code};
  ssize_t count;
  do count = send(SOCKET, &answer, sizeof answer, MSG_NOSIGNAL);
  while (count < 0 && errno == EINTR);
  return count == sizeof answer;
}

// A copy of this process, as a child of the worker. A control group cannot always be entered in this way; then the
// child enters it by itself.
static pid_t copy(int group, int *must_enter) {
  struct clone_arguments arguments = {
      .flags = CLONE_PARENT | (group >= 0 ? INTO_GROUP : 0), .group = group >= 0 ? (uint64_t)group : 0};
  *must_enter = 0;
  long child = syscall(CLONE3, &arguments, sizeof arguments);
  if (child >= 0 || errno == EAGAIN || errno == ENOMEM) return (pid_t)child;
  *must_enter = group >= 0;
  return (pid_t)syscall(__NR_clone, (unsigned long)CLONE_PARENT, 0, 0, 0, 0);
}

static void enter(int group) {
  int file = openat(group, "cgroup.procs", O_WRONLY | O_CLOEXEC);
  // Without the group, the worker finds the processes of the launch by its other means.
  if (file < 0 || write(file, "0", 1) != 1) return;
  close(file);
}

// The texts of the order, as a list that ends with NULL. `*text` becomes the place behind them.
static char **list(char **text, uint32_t count, char *first) {
  char **list = calloc((size_t)count + 2, sizeof(char *));
  if (list == NULL) return NULL;
  size_t index = 0;
  if (first != NULL) list[index++] = first;
  for (uint32_t number = 0; number < count; number++) {
    list[index++] = *text;
    *text += strlen(*text) + 1;
  }
  return list;
}

static int isolates(char **words) {
  for (size_t index = 1; words[index] != NULL && strcmp(words[index], "--") != 0; index++)
    if (strcmp(words[index], "--isolate") == 0) return 1;
  return 0;
}

// The new process. Its group has to exist before the worker knows it: the worker signals the group.
static void run(const struct order *order, char *texts, int *descriptors, int group, int must_enter) {
  setpgid(0, 0);
  prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
  if (must_enter) enter(group);
  if (!answer(getpid(), 0)) _exit(1);
  close(SOCKET);
  char *directory = texts, *text = texts + strlen(texts) + 1;
  char **words = list(&text, order->words, "baton-exec");
  char **variables = list(&text, order->variables, NULL);
  int count = (int)order->descriptors - (int)order->has_group;
  if (words == NULL || variables == NULL || place_descriptors(descriptors, order->numbers, count) != 0) _exit(1);
  fcntl(order->report, F_SETFD, FD_CLOEXEC);
  if (order->niceness != INT32_MIN) setpriority(PRIO_PROCESS, 0, order->niceness);
  if (chdir(directory) != 0) fail_before(order->report, "directory", errno, directory);
  environ = variables;
  if (!isolates(words)) become_command((int)order->words + 1, words);
  // Processes that stay are recognised by the environment with which their program began.
  fcntl(order->report, F_SETFD, 0);
  execve("/proc/self/exe", words, environ);
  fail_before(order->report, "fence", errno, "/proc/self/exe");
}

// Whether the parts of the order agree with each other.
static int is_whole(const struct order *order, const char *texts, int received) {
  uint64_t ends = 0;
  if (received != (int)order->descriptors || order->has_group > 1 || order->descriptors < order->has_group) return 0;
  for (uint32_t index = 0; index < order->bytes; index++) ends += texts[index] == 0;
  if (ends != 1ull + order->words + order->variables || texts[order->bytes - 1] != 0) return 0;
  for (uint32_t index = 0; index < order->descriptors; index++)
    if (order->numbers[index] < 0 || order->numbers[index] > 1024) return 0;
  return 1;
}

// Carries out one order. Returns 0 when there is none any more, or if it cannot be understood.
static int carry_out(void) {
  struct order order;
  int descriptors[MOST_DESCRIPTORS], count, must_enter;
  if (!receive_order(&order, descriptors, &count)) return 0;
  if (order.bytes == 0 || order.bytes > MOST_BYTES || order.descriptors > MOST_DESCRIPTORS) return 0;
  char *texts = malloc(order.bytes);
  if (texts == NULL || !receive(texts, order.bytes) || !is_whole(&order, texts, count)) return 0;
  int group = order.has_group ? descriptors[count - 1] : -1;
  pid_t child = copy(group, &must_enter);
  if (child == 0) run(&order, texts, descriptors, group, must_enter);
  int error = errno;
  // The environment may have secrets.
  explicit_bzero(texts, order.bytes);
  free(texts);
  close_all(descriptors, count);
  return child > 0 ? 1 : answer(-1, error);
}

int serve(void) {
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  if (!answer(getpid(), VERSION)) return 1;
  while (carry_out()) {}
  return 0;
}

#else
int serve(void) { return 1; }
#endif
