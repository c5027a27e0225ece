// baton-exec stands between the worker and a command: it fences itself in, and then becomes the command. The worker
// starts it as
//
//   baton-exec [--report NUMBER] [--fence [--isolate [--own-network]]] [--hide PATH]... [--keep PATH]...
//              [--write PATH]... [--user UID:GID[:GROUP]...] [--no-network] [--no-core]
//              [--exactly PATH] [--inside PATH] -- PROGRAM ARGV0 [ARGUMENT]...
//
// or once, as `baton-exec --serve`, which then does the same for each command in a process of its own (serve.c).
//
// --fence is the sandbox `basic`, and with --isolate it is `strict`. Then two processes of baton-exec stay: one waits
// in the worker's place, and the other one is the first process of the command's namespaces.
//
// If anything fails, the program does not run. Then one line says so on the descriptor NUMBER, and the exit status is
// 125:
//
//   STAGE ERRNO WHAT
//
// The command cannot write this line, because the descriptor is closed when the command begins. `baton-exec --probe`
// prints the highest level that this host can give, and why it gives no higher one: `strict`, `basic: REASON` or
// `none: REASON`. `baton-exec --help` says what the program is.
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
#include <sys/wait.h>
#include <unistd.h>

#if defined(__linux__)
#include <sys/syscall.h>
#endif

#ifndef O_PATH
#define O_PATH O_RDONLY
#endif

extern char **environ;

enum { FAILED = 125, LARGEST_NUMBER = 1024 };

struct options {
  // The descriptor for the line about a failure; standard error, in words for a person, if it is 0.
  int report;
  int fences, isolates, separates_network, forbids_network, forbids_cores;
  struct paths hidden, kept, writable;
  // The user to become; `switches` says whether there is one.
  int switches;
  struct user user;
  const char *exact, *directory;
  // The program, and the arguments from argv[0] on.
  const char *program;
  char **arguments;
};

__attribute__((noreturn)) static void fail(
    const struct options *options, const char *stage, int error, const char *what) {
  char line[PATH_MAX + 256];
  int length;
  if (options->report > 0)
    length = snprintf(line, sizeof line, "%s %d %s\n", stage, error, what);
  else
    length = snprintf(line, sizeof line, "baton-exec: %s: %s: %s\n", stage, what, strerror(error));
  if (length >= (int)sizeof line) length = sizeof line - 1;
  // One write of less than PIPE_BUF bytes, so that the line arrives in one piece.
  if (length > 4096) length = 4096;
  if (write(options->report > 0 ? options->report : 2, line, (size_t)length) < 0) _exit(FAILED + 1);
  _exit(FAILED);
}

// The command must not inherit the descriptor: it could say that it was not started.
static void parse_report(struct options *options, const char *value) {
  char *end;
  long number = strtol(value, &end, 10);
  if (end == value || *end != 0 || number <= 2 || number > LARGEST_NUMBER ||
      fcntl((int)number, F_SETFD, FD_CLOEXEC) != 0)
    fail(options, "usage", EINVAL, "--report");
  options->report = (int)number;
}

static void parse_user(struct options *options, const char *value) {
  size_t count = 0;
  options->user.groups = calloc(strlen(value) + 1, sizeof(unsigned));
  if (options->user.groups == NULL) fail(options, "fence", ENOMEM, "memory");
  for (;; count++) {
    char *end;
    unsigned long number = strtoul(value, &end, 10);
    if (end == value || *value == '-' || number >= UINT_MAX || (*end != ':' && *end != 0))
      fail(options, "usage", EINVAL, "--user");
    if (count == 0) options->user.id = (unsigned)number;
    else if (count == 1) options->user.group = (unsigned)number;
    else options->user.groups[count - 2] = (unsigned)number;
    if (*end == 0) break;
    value = end + 1;
  }
  // Without its group, and as root, the command would gain what it must not have.
  if (count < 1 || options->user.id == 0) fail(options, "usage", EINVAL, "--user");
  options->user.count = count - 1;
  options->switches = 1;
}

static void parse(struct options *options, int count, char **words) {
  int index = 1;
  struct paths *lists[] = {&options->hidden, &options->kept, &options->writable};
  for (size_t list = 0; list < sizeof lists / sizeof lists[0]; list++)
    if ((lists[list]->list = calloc((size_t)count + 1, sizeof(char *))) == NULL)
      fail(options, "fence", ENOMEM, "memory");
  for (; index < count && strcmp(words[index], "--") != 0; index++) {
    const char *word = words[index];
    if (strcmp(word, "--fence") == 0) {
      options->fences = 1;
    } else if (strcmp(word, "--isolate") == 0) {
      options->isolates = 1;
    } else if (strcmp(word, "--own-network") == 0) {
      options->separates_network = 1;
    } else if (strcmp(word, "--no-network") == 0) {
      options->forbids_network = 1;
    } else if (strcmp(word, "--no-core") == 0) {
      options->forbids_cores = 1;
    } else if (index + 1 >= count) {
      fail(options, "usage", EINVAL, word);
    } else {
      const char *value = words[++index];
      if (strcmp(word, "--report") == 0) parse_report(options, value);
      else if (strcmp(word, "--hide") == 0) options->hidden.list[options->hidden.count++] = value;
      else if (strcmp(word, "--keep") == 0) options->kept.list[options->kept.count++] = value;
      else if (strcmp(word, "--write") == 0) options->writable.list[options->writable.count++] = value;
      else if (strcmp(word, "--user") == 0) parse_user(options, value);
      else if (strcmp(word, "--exactly") == 0) options->exact = value;
      else if (strcmp(word, "--inside") == 0) options->directory = value;
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

// The words of the command line of this process. What waits for a command forgets them, because every process can read
// them.
static char **command_line;

static void forget_words(void) {
  for (int index = 1; command_line[index] != NULL; index++)
    memset(command_line[index], 0, strlen(command_line[index]));
}

// Returns in the process that is to become the command. With --isolate it is a new one.
static struct problem apply_fence(const struct options *options) {
  struct problem problem = {NULL, 0};
  struct paths hidden, kept, writable;
  int filters = options->fences || options->forbids_network, hides = 0;
  char *directory = realpath(".", NULL);
  if ((problem = resolve(&options->hidden, &hidden)).what != NULL) return problem;
  if ((problem = resolve(&options->kept, &kept)).what != NULL) return problem;
  if ((problem = resolve(&options->writable, &writable)).what != NULL) return problem;
  if (options->isolates) {
    if (landlock_version() < LEAST_LANDLOCK_VERSION) return (struct problem){"Landlock", ENOSYS};
    if ((problem = forbid_core_dumps()).what != NULL) return problem;
    problem = isolate(&hidden, &kept, &writable, options->separates_network, forget_words);
    hides = 1;
  } else if (options->fences && (hides = separate_mounts())) {
    problem = hide_with_mounts(&hidden, &kept);
  }
  if (problem.what != NULL) return problem;
  // Without mounts the folders above the launch's would be closed to the user.
  if (options->switches && !hides) return (struct problem){"mounts for another user", EPERM};
  if (options->switches && (problem = become(&options->user)).what != NULL) return problem;
  // Nothing is left for Landlock to hide. It still keeps the command from other processes.
  if (hides) hidden.count = 0;
  if ((hides || options->switches) && chdir(directory != NULL ? directory : "/") != 0)
    return (struct problem){"the working directory, which is hidden from commands or closed to their user", errno};
  if (filters) problem = fence_privileges();
  if (problem.what == NULL && options->fences) problem = fence_files(&hidden, &kept);
  if (problem.what == NULL && filters) problem = fence_capabilities();
  if (problem.what == NULL && filters) problem = fence_calls(options->fences, options->forbids_network);
  return problem;
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

// Applies the fence to a process that does nothing else. `gap` becomes the reason why it is not there, or NULL.
static struct problem try_fence(int isolates, const char **gap) {
  struct options options = {.fences = 1, .isolates = isolates, .separates_network = isolates, .forbids_network = !isolates};
  struct problem problem = apply_fence(&options);
  *gap = problem.what == NULL && isolates ? gap_in_isolation() : NULL;
  return problem;
}

// The level is tried in a process of its own, because a fence stays. The child says on a pipe what is wrong.
static int can(int isolates, char *why, size_t size) {
  int result[2], status;
  if (pipe(result) != 0) return 0;
  pid_t child = fork();
  if (child == 0) {
    const char *gap;
    char line[256];
    // The worker's own directory is of no use to a command, and may be closed to it.
    if (chdir("/") != 0) _exit(2);
    // Descriptor 1 stays open in the process that waits, as the pipe of a command does.
    dup2(result[1], 1);
    struct problem problem = try_fence(isolates, &gap);
    if (problem.what == NULL && gap == NULL) _exit(0);
    int length = problem.what != NULL ? snprintf(line, sizeof line, "%s cannot be applied: %s", problem.what,
                                                 strerror(problem.error))
                                      : snprintf(line, sizeof line, "in its sandbox a process %s", gap);
    if (write(1, line, (size_t)length) < 0) _exit(2);
    _exit(1);
  }
  close(result[1]);
  ssize_t length = child < 0 ? 0 : read(result[0], why, size - 1);
  why[length > 0 ? length : 0] = 0;
  if (child < 0 || waitpid(child, &status, 0) < 0) return 0;
  if (status != 0 && why[0] == 0) snprintf(why, size, "a process in the sandbox ended with status %d", status);
  return status == 0;
}

static int probe(void) {
  char why[256];
  int version = landlock_version();
  if (version == 0) {
    puts("none: the kernel has no Landlock");
  } else if (version < LEAST_LANDLOCK_VERSION) {
    printf("none: the kernel has version %d of Landlock, and version %d is needed\n", version, LEAST_LANDLOCK_VERSION);
  } else if (can(1, why, sizeof why)) {
    puts("strict");
  } else {
    char basic[256];
    if (can(0, basic, sizeof basic)) printf("basic: %s\n", why);
    else printf("none: %s\n", basic);
  }
  return 0;
}

static int help(void) {
  puts(
      "OVERVIEW: Fence a process in, and become the command of a launch.\n"
      "\n"
      "baton-worker starts this program for each command. There is no need to start it by hand, except to ask which\n"
      "sandbox this host can give.\n"
      "\n"
      "USAGE: baton-exec --probe\n"
      "       baton-exec --serve\n"
      "       baton-exec [OPTION]... -- PROGRAM ARGV0 [ARGUMENT]...\n"
      "\n"
      "  --probe               Print the highest level that this host can give, and why it gives no higher one: strict,\n"
      "                        basic: REASON or none: REASON.\n"
      "  --fence               Fence the command in: the sandbox 'basic'.\n"
      "  --isolate             With --fence: in namespaces of its own, the sandbox 'strict'.\n"
      "  --own-network         With --isolate: with a network of its own, which leads nowhere.\n"
      "  --no-network          Forbid the network.\n"
      "  --no-core             Forbid core dumps.\n"
      "  --hide PATH           Hide this path. May be given several times, as may the next two.\n"
      "  --keep PATH           Leave this path visible within a hidden one.\n"
      "  --write PATH          With --isolate: let the command write to this path.\n"
      "  --user UID:GID[:GROUP]...\n"
      "                        Become this user, which must not be root.\n"
      "  --exactly PATH        Run the program only if it is at this path, without links.\n"
      "  --inside PATH         Run it in the working directory only if that is at this path, without links.\n"
      "  --report NUMBER       Tell a failure on this descriptor, which the command does not get.\n"
      "  --serve               Take orders from the worker on standard input, a socket, and start a process for each.\n"
      "  --help, -h            Print this.\n"
      "\n"
      "Exit status: that of the command; 125 if it was not run.");
  return 0;
}

void become_command(int count, char **words) {
  struct options options = {0};
  parse(&options, count, words);
  struct problem problem = {NULL, 0};
  if (options.forbids_cores) problem = forbid_core_dumps();
  if (problem.what != NULL) fail(&options, "fence", problem.error, problem.what);
  if (options.directory != NULL) {
    int directory = open_exactly(&options, ".", options.directory, O_DIRECTORY);
    if (fchdir(directory) != 0) fail(&options, "exec", errno, options.directory);
    close(directory);
  }
  int program = options.exact == NULL ? -1 : open_exactly(&options, options.program, options.exact, 0);
  problem = apply_fence(&options);
  if (problem.what != NULL) fail(&options, "fence", problem.error, problem.what);
  if (program < 0) execve(options.program, options.arguments, environ);
  else execute_descriptor(program, options.arguments);
  fail(&options, "exec", errno, options.program);
}

void fail_before(int report, const char *stage, int error, const char *what) {
  struct options options = {.report = report};
  fail(&options, stage, error, what);
}

int main(int count, char **words) {
  command_line = words;
  if (count == 2 && strcmp(words[1], "--probe") == 0) return probe();
  if (count == 2 && strcmp(words[1], "--serve") == 0) return serve();
  if (count == 2 && (strcmp(words[1], "--help") == 0 || strcmp(words[1], "-h") == 0)) return help();
  become_command(count, words);
}
