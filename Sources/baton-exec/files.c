#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE  // For O_PATH.
#endif

#include "fence.h"

#if defined(__linux__)
#include <sys/stat.h>
#include <sys/syscall.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
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

int is_in(const char *path, const char *folder) {
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

// Where the system permits no mounts: Landlock knows no rule that denies. So everything beside the hidden paths is
// granted, entry by entry, in each folder that leads to one of them.
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

struct problem fence_files(const struct paths *hidden, const struct paths *kept) {
  int version = landlock_version();
  if (version < LEAST_LANDLOCK_VERSION) return (struct problem){"Landlock", ENOSYS};
  struct walk walk = {
      .handled = FIRST_RIGHTS | REFER | (version >= 3 ? TRUNCATE : 0), .hidden = *hidden, .kept = *kept};
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
