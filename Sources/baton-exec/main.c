// baton-exec stands between the worker and a command: it fences itself in, and then becomes the command. The worker
// starts it as
//
//   baton-exec [--report NONCE] [--fence] [--hide PATH]... [--keep PATH]... [--no-network] [--no-core]
//              [--receive SOCKET:FIRST:COUNT] [--exactly PATH] [--inside PATH] -- PROGRAM ARGV0 [ARGUMENT]...
//
// With --receive it takes COUNT + 1 descriptors from the descriptor SOCKET: the first one takes the place of the socket,
// and the others are the numbers from FIRST on, for the command.
//
// If anything fails, the program does not run. Then one line says so on standard output, and the exit status is 125:
//
//   baton-exec NONCE STAGE ERRNO WHAT
//
// The command cannot write this line, because it does not know NONCE: the arguments of this process are gone when the
// command begins. `baton-exec --probe` prints `basic` if this host can give the fence, and `none: REASON` if not.
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE  // For O_PATH.
#endif

#include "fence.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(__linux__)
#include <sys/syscall.h>
#endif

#ifndef O_PATH
#define O_PATH O_RDONLY
#endif

extern char **environ;

enum { FAILED = 125 };

struct options {
  const char *nonce;
  int fences, forbids_network, forbids_cores;
  // The descriptors to receive; there are none if `received` is 0.
  int socket, first_received, received;
  struct paths hidden, kept;
  const char *exact, *directory;
  // The program, and the arguments from argv[0] on.
  const char *program;
  char **arguments;
};

static void fail(const struct options *options, const char *stage, int error, const char *what) {
  char line[PATH_MAX + 256];
  int length;
  if (options->nonce != NULL)
    length = snprintf(line, sizeof line, "baton-exec %s %s %d %s\n", options->nonce, stage, error, what);
  else
    length = snprintf(line, sizeof line, "baton-exec: %s: %s: %s\n", stage, what, strerror(error));
  if (length >= (int)sizeof line) length = sizeof line - 1;
  // One write of less than PIPE_BUF bytes, so that the line arrives in one piece.
  if (length > 4096) length = 4096;
  if (write(options->nonce != NULL ? 1 : 2, line, (size_t)length) < 0) _exit(FAILED + 1);
  _exit(FAILED);
}

static void parse_descriptors(struct options *options, const char *value) {
  int *numbers[] = {&options->socket, &options->first_received, &options->received};
  for (int index = 0; index < 3; index++) {
    char *end;
    long number = strtol(value, &end, 10);
    if (end == value || number < 0 || number > 1024 || *end != (index < 2 ? ':' : 0))
      fail(options, "usage", EINVAL, "--receive");
    *numbers[index] = (int)number;
    value = end + 1;
  }
}

static void parse(struct options *options, int count, char **words) {
  int index = 1;
  options->hidden.list = calloc((size_t)count + 1, sizeof(char *));
  options->kept.list = calloc((size_t)count + 1, sizeof(char *));
  if (options->hidden.list == NULL || options->kept.list == NULL) fail(options, "fence", ENOMEM, "memory");
  for (; index < count && strcmp(words[index], "--") != 0; index++) {
    const char *word = words[index];
    if (strcmp(word, "--fence") == 0) {
      options->fences = 1;
    } else if (strcmp(word, "--no-network") == 0) {
      options->forbids_network = 1;
    } else if (strcmp(word, "--no-core") == 0) {
      options->forbids_cores = 1;
    } else if (index + 1 >= count) {
      fail(options, "usage", EINVAL, word);
    } else {
      const char *value = words[++index];
      if (strcmp(word, "--report") == 0) options->nonce = value;
      else if (strcmp(word, "--hide") == 0) options->hidden.list[options->hidden.count++] = value;
      else if (strcmp(word, "--keep") == 0) options->kept.list[options->kept.count++] = value;
      else if (strcmp(word, "--exactly") == 0) options->exact = value;
      else if (strcmp(word, "--inside") == 0) options->directory = value;
      else if (strcmp(word, "--receive") == 0) parse_descriptors(options, value);
      else fail(options, "usage", EINVAL, word);
    }
  }
  // "--", the program and argv[0] have to be there.
  if (index + 2 >= count) fail(options, "usage", EINVAL, "there is no program");
  options->program = words[index + 1];
  options->arguments = words + index + 2;
}

// The path of an open file, without links; NULL if the system does not tell.
static const char *path_of(int descriptor) {
  static char path[PATH_MAX + 1];
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  ssize_t length = readlink(link, path, PATH_MAX);
  if (length <= 0) return NULL;
  path[length] = 0;
  return path;
}

// Opens what has to be at exactly this path. The file that is compared here is the file that is used: a link that is
// changed afterwards leads nowhere else.
static int open_exactly(const struct options *options, const char *path, const char *expected, int flags) {
  int descriptor = open(path, O_PATH | O_CLOEXEC | flags);
  if (descriptor < 0) fail(options, "exec", errno, path);
  const char *real = path_of(descriptor);
  if (real == NULL || strcmp(real, expected) != 0) fail(options, "refused", EACCES, real == NULL ? path : real);
  return descriptor;
}

static void apply_fence(const struct options *options) {
  struct problem problem = {NULL, 0};
  if (options->fences || options->forbids_network) problem = fence_privileges();
  if (problem.what == NULL && options->fences) problem = fence_files(&options->hidden, &options->kept);
  if (problem.what == NULL && (options->fences || options->forbids_network)) problem = fence_capabilities();
  if (problem.what == NULL && (options->fences || options->forbids_network))
    problem = fence_calls(options->fences, options->forbids_network);
  if (problem.what != NULL) fail(options, "fence", problem.error, problem.what);
}

#if defined(__linux__)
static void execute_descriptor(int program, char **arguments) {
  syscall(__NR_execveat, program, "", arguments, environ, AT_EMPTY_PATH);
  if (errno != ENOENT) return;
  // A script: its interpreter gets /dev/fd/N for its path, and so N has to stay open.
  fcntl(program, F_SETFD, 0);
  syscall(__NR_execveat, program, "", arguments, environ, AT_EMPTY_PATH);
}
#else
static void execute_descriptor(int program, char **arguments) {
  (void)program;
  (void)arguments;
  errno = ENOSYS;
}
#endif

static int probe(void) {
  struct options options = {.fences = 1};
  int version = landlock_version();
  struct problem problem = fence_privileges();
  if (version == 0) {
    puts("none: the kernel has no Landlock");
    return 0;
  }
  if (version < LEAST_LANDLOCK_VERSION) {
    printf("none: the kernel has version %d of Landlock, and version %d is needed\n", version, LEAST_LANDLOCK_VERSION);
    return 0;
  }
  if (problem.what == NULL) problem = fence_files(&options.hidden, &options.kept);
  if (problem.what == NULL) problem = fence_capabilities();
  if (problem.what == NULL) problem = fence_calls(1, 1);
  if (problem.what != NULL) {
    printf("none: %s cannot be applied: %s\n", problem.what, strerror(problem.error));
    return 0;
  }
  puts("basic");
  return 0;
}

int main(int count, char **words) {
  struct options options = {0};
  if (count == 2 && strcmp(words[1], "--probe") == 0) return probe();
  parse(&options, count, words);
  struct problem problem = {NULL, 0};
  if (options.received > 0) problem = receive_descriptors(options.socket, options.first_received, options.received);
  if (problem.what == NULL && options.forbids_cores) problem = forbid_core_dumps();
  if (problem.what != NULL) fail(&options, "fence", problem.error, problem.what);
  if (options.directory != NULL) {
    int directory = open_exactly(&options, ".", options.directory, O_DIRECTORY);
    if (fchdir(directory) != 0) fail(&options, "exec", errno, options.directory);
    close(directory);
  }
  int program = options.exact == NULL ? -1 : open_exactly(&options, options.program, options.exact, 0);
  apply_fence(&options);
  if (program < 0) execve(options.program, options.arguments, environ);
  else execute_descriptor(program, options.arguments);
  fail(&options, "exec", errno, options.program);
}
