#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE  // For O_PATH.
#endif

#include "fence.h"

#if defined(__linux__)
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// The interface of Landlock (https://docs.kernel.org/userspace-api/landlock.html). It is repeated here, because the
// headers of a build machine may be older than the kernel of a host. The numbers are the same on all architectures.
#ifndef __NR_landlock_create_ruleset
#define __NR_landlock_create_ruleset 444
#define __NR_landlock_add_rule 445
#define __NR_landlock_restrict_self 446
#endif

struct ruleset_attributes {
  uint64_t handled_files;
  uint64_t handled_network;
  uint64_t scoped;
};

struct path_rule {
  uint64_t allowed;
  int32_t parent;
} __attribute__((packed));

enum { VERSION_FLAG = 1, PATH_RULE = 1 };

enum {
  EXECUTE = 1 << 0,
  WRITE_FILE = 1 << 1,
  READ_FILE = 1 << 2,
  READ_DIR = 1 << 3,
  REFER = 1 << 13,
  TRUNCATE = 1 << 14,
  // Execute, read, write, list, remove and make: what version 1 knows.
  FIRST_RIGHTS = (1 << 13) - 1,
  FILE_RIGHTS = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE,
  SIGNAL_SCOPE = 1 << 1,
};

// What is hidden and kept, as real paths, and the rules that are made of it.
struct walk {
  int ruleset;
  uint64_t handled;
  struct paths hidden, kept;
  struct problem problem;
};

int landlock_version(void) {
  long version = syscall(__NR_landlock_create_ruleset, NULL, 0, VERSION_FLAG);
  return version < 0 ? 0 : (int)version;
}

static void grant_descriptor(struct walk *walk, int descriptor, uint64_t rights) {
  struct path_rule rule = {.allowed = rights & walk->handled, .parent = descriptor};
  if (syscall(__NR_landlock_add_rule, walk->ruleset, PATH_RULE, &rule, 0) != 0 && walk->problem.what == NULL)
    walk->problem = (struct problem){"a rule of Landlock", errno};
}

// Grants everything in the file or folder. One that cannot be opened has vanished or is not reachable: the command
// cannot use it either.
static void grant(struct walk *walk, const char *path) {
  struct stat status;
  int descriptor = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
  if (descriptor < 0) return;
  if (fstat(descriptor, &status) == 0 && !S_ISLNK(status.st_mode))
    grant_descriptor(walk, descriptor, S_ISDIR(status.st_mode) ? walk->handled : FILE_RIGHTS);
  close(descriptor);
}

// Whether `path` is `folder`, or in it.
static int is_in(const char *path, const char *folder) {
  size_t length = strcmp(folder, "/") == 0 ? 0 : strlen(folder);
  return strncmp(path, folder, length) == 0 && (path[length] == 0 || path[length] == '/');
}

static void walk_into(struct walk *walk, const char *path);

static void walk_entries(struct walk *walk, const char *path) {
  char child[PATH_MAX];
  struct dirent *entry;
  DIR *folder = opendir(path);
  if (folder == NULL) {
    // Without the list of its entries nothing in the folder can be granted. The command gets less, and never more.
    return;
  }
  grant_descriptor(walk, dirfd(folder), READ_DIR);
  while ((entry = readdir(folder)) != NULL) {
    // A symbolic link has no rights of its own. Its target has those of its place.
    if (entry->d_type == DT_LNK || strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    const char *parent = strcmp(path, "/") == 0 ? "" : path;
    size_t length = strlen(parent) + 1 + strlen(entry->d_name);
    if (length >= sizeof child) continue;
    memcpy(child, parent, strlen(parent));
    child[strlen(parent)] = '/';
    strcpy(child + strlen(parent) + 1, entry->d_name);
    walk_into(walk, child);
  }
  closedir(folder);
}

// Where the system permits no mounts: Landlock knows no rule that denies. So everything beside the hidden paths is granted, entry by entry, in each folder
// that leads to one of them.
static void walk_into(struct walk *walk, const char *path) {
  for (size_t index = 0; index < walk->hidden.count; index++)
    if (is_in(path, walk->hidden.list[index])) return;
  for (size_t index = 0; index < walk->hidden.count; index++)
    if (is_in(walk->hidden.list[index], path)) {
      walk_entries(walk, path);
      return;
    }
  grant(walk, path);
}

// The real paths of those that exist. The memory is never freed, because the process soon becomes another program.
static struct problem resolve(const struct paths *paths, struct paths *real) {
  *real = (struct paths){calloc(paths->count + 1, sizeof(char *)), 0};
  if (real->list == NULL) return (struct problem){"memory", ENOMEM};
  for (size_t index = 0; index < paths->count; index++) {
    char *path = realpath(paths->list[index], NULL);
    // A path that this user cannot reach is hidden from the command by the system already.
    if (path == NULL && errno != ENOENT && errno != ENOTDIR && errno != EACCES)
      return (struct problem){"a path to hide", errno};
    if (path != NULL) real->list[real->count++] = path;
  }
  return (struct problem){NULL, 0};
}

static int write_text(const char *path, const char *text) {
  int file = open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0) return -1;
  ssize_t count = write(file, text, strlen(text));
  close(file);
  return count == (ssize_t)strlen(text) ? 0 : -1;
}

// Gives this process mounts of its own. Root needs nothing else for that; another user needs a user namespace, in which
// it keeps its ids. Some systems forbid it: then 0 is returned, and Landlock alone has to hide the paths.
static int separate_mounts(void) {
  char map[64];
  uid_t user = geteuid();
  gid_t group = getegid();
  if (unshare(user == 0 ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER) != 0) return 0;
  if (user != 0) {
    snprintf(map, sizeof map, "%u %u 1", user, user);
    if (write_text("/proc/self/uid_map", map) != 0 || write_text("/proc/self/setgroups", "deny") != 0) return 0;
    snprintf(map, sizeof map, "%u %u 1", group, group);
    if (write_text("/proc/self/gid_map", map) != 0) return 0;
  }
  // What the host mounts later appears here too, and nothing of here appears there.
  return mount("none", "/", NULL, MS_REC | MS_SLAVE, NULL) == 0;
}

// Makes the folders above `path`, which an empty folder has hidden, and a folder or file in its place.
static void make_place(const char *path, int is_folder) {
  char part[PATH_MAX];
  for (size_t length = 1; path[length] != 0 && length < sizeof part - 1; length++)
    if (path[length] == '/') {
      memcpy(part, path, length);
      part[length] = 0;
      mkdir(part, 0700);
    }
  if (is_folder) {
    mkdir(path, 0700);
  } else {
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file >= 0) close(file);
  }
}

// Whether the hidden path is in another one, or was named before: then it needs no mount of its own.
static int is_covered(const struct walk *walk, size_t index) {
  const char *path = walk->hidden.list[index];
  for (size_t other = 0; other < walk->hidden.count; other++) {
    if (other == index || !is_in(path, walk->hidden.list[other])) continue;
    if (other < index || strcmp(path, walk->hidden.list[other]) != 0) return 1;
  }
  return 0;
}

// Puts an empty folder over each hidden folder, and an empty file over each hidden file. What is kept is put back into
// its place. The working directory is entered again, because it is in the mounts from before.
static struct problem hide_with_mounts(const struct walk *walk, const char *directory) {
  int descriptors[16];
  char source[64];
  struct stat status;
  if (walk->kept.count > sizeof descriptors / sizeof descriptors[0]) return (struct problem){"paths to keep", E2BIG};
  for (size_t index = 0; index < walk->kept.count; index++)
    if ((descriptors[index] = open(walk->kept.list[index], O_PATH | O_NOFOLLOW | O_CLOEXEC)) < 0)
      return (struct problem){"a path to keep", errno};
  for (size_t index = 0; index < walk->hidden.count; index++) {
    if (is_covered(walk, index) || lstat(walk->hidden.list[index], &status) != 0) continue;
    int result = S_ISDIR(status.st_mode)
                     ? mount("none", walk->hidden.list[index], "tmpfs", MS_NOSUID | MS_NODEV, "mode=0700,size=64k")
                     : mount("/dev/null", walk->hidden.list[index], NULL, MS_BIND, NULL);
    if (result != 0) return (struct problem){"a mount that hides a path", errno};
  }
  for (size_t index = 0; index < walk->kept.count; index++) {
    if (fstat(descriptors[index], &status) != 0) return (struct problem){"a path to keep", errno};
    snprintf(source, sizeof source, "/proc/self/fd/%d", descriptors[index]);
    make_place(walk->kept.list[index], S_ISDIR(status.st_mode));
    if (mount(source, walk->kept.list[index], NULL, MS_BIND | MS_REC, NULL) != 0)
      return (struct problem){"a mount that keeps a path", errno};
    close(descriptors[index]);
  }
  for (size_t index = 0; index < walk->hidden.count; index++)
    if (!is_covered(walk, index) && lstat(walk->hidden.list[index], &status) == 0 && S_ISDIR(status.st_mode) &&
        mount("none", walk->hidden.list[index], NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV, NULL) != 0)
      return (struct problem){"a mount that hides a path", errno};
  if (chdir(directory) != 0) return (struct problem){"the working directory, which is hidden from commands", errno};
  return (struct problem){NULL, 0};
}

struct problem fence_files(const struct paths *hidden, const struct paths *kept) {
  int version = landlock_version();
  if (version < LEAST_LANDLOCK_VERSION) return (struct problem){"Landlock", ENOSYS};
  struct walk walk = {.handled = FIRST_RIGHTS | REFER | (version >= 3 ? TRUNCATE : 0)};
  walk.problem = resolve(hidden, &walk.hidden);
  if (walk.problem.what == NULL) walk.problem = resolve(kept, &walk.kept);
  if (walk.problem.what != NULL) return walk.problem;
  char *directory = realpath(".", NULL);
  int is_mounted = separate_mounts();
  if (is_mounted) {
    walk.problem = hide_with_mounts(&walk, directory != NULL ? directory : "/");
    if (walk.problem.what != NULL) return walk.problem;
    // Nothing is left for Landlock to hide. It still keeps the command from other processes.
    walk.hidden.count = 0;
  }
  struct ruleset_attributes attributes = {
      .handled_files = walk.handled, .handled_network = 0, .scoped = version >= 6 ? SIGNAL_SCOPE : 0};
  walk.ruleset = (int)syscall(__NR_landlock_create_ruleset, &attributes, sizeof attributes, 0);
  if (walk.ruleset < 0) return (struct problem){"Landlock", errno};
  walk_into(&walk, "/");
  for (size_t index = 0; index < walk.kept.count; index++) grant(&walk, walk.kept.list[index]);
  if (walk.problem.what == NULL && syscall(__NR_landlock_restrict_self, walk.ruleset, 0) != 0)
    walk.problem = (struct problem){"Landlock", errno};
  close(walk.ruleset);
  return walk.problem;
}

#else
#include <errno.h>

int landlock_version(void) { return 0; }

struct problem fence_files(const struct paths *hidden, const struct paths *kept) {
  (void)hidden;
  (void)kept;
  return (struct problem){"Landlock", ENOSYS};
}
#endif
