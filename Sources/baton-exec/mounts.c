#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE  // For O_PATH and unshare.
#endif

#include "fence.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

// The memory is never freed, because the process soon becomes another program.
struct problem resolve(const struct paths *paths, struct paths *real) {
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

#if defined(__linux__)
#include <sys/mount.h>
#include <sys/stat.h>

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

static int write_text(const char *path, const char *text) {
  int file = open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0) return -1;
  ssize_t count = write(file, text, strlen(text));
  close(file);
  return count == (ssize_t)strlen(text) ? 0 : -1;
}

int separate(int namespaces) {
  char map[64];
  uid_t user = geteuid();
  gid_t group = getegid();
  if (unshare(user == 0 ? namespaces : namespaces | CLONE_NEWUSER) != 0) return -1;
  if (user != 0) {
    snprintf(map, sizeof map, "%u %u 1", user, user);
    if (write_text("/proc/self/uid_map", map) != 0 || write_text("/proc/self/setgroups", "deny") != 0) return -1;
    snprintf(map, sizeof map, "%u %u 1", group, group);
    if (write_text("/proc/self/gid_map", map) != 0) return -1;
  }
  return 0;
}

int separate_mounts(void) {
  // What the host mounts later appears here too, and nothing of here appears there.
  return separate(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_SLAVE, NULL) == 0;
}

void make_place(const char *path, int is_folder) {
  char part[PATH_MAX];
  // Another user may have to pass through these folders, whatever the worker's mask is.
  mode_t mask = umask(022);
  for (size_t length = 1; path[length] != 0 && length < sizeof part - 1; length++)
    if (path[length] == '/') {
      memcpy(part, path, length);
      part[length] = 0;
      mkdir(part, 0755);
    }
  if (is_folder) {
    mkdir(path, 0755);
  } else {
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file >= 0) close(file);
  }
  umask(mask);
}

// Whether the hidden path is in another one, or was named before: then it needs no mount of its own.
static int is_covered(const struct paths *hidden, size_t index) {
  const char *path = hidden->list[index];
  for (size_t other = 0; other < hidden->count; other++) {
    if (other == index || !is_in(path, hidden->list[other])) continue;
    if (other < index || strcmp(path, hidden->list[other]) != 0) return 1;
  }
  return 0;
}

// Whether the command's user could rename or remove what is in the folder. Its owner may give itself the right to.
static int can_change(const char *folder) {
  struct stat status;
  return (lstat(folder, &status) == 0 && status.st_uid == geteuid()) || access(folder, W_OK) == 0;
}

// Whether the folder leads also to a hidden path that was named before.
static int is_pinned(const struct paths *hidden, size_t index, const char *folder) {
  for (size_t other = 0; other < index; other++)
    if (!is_covered(hidden, other) && is_in(hidden->list[other], folder)) return 1;
  return 0;
}

// Mounts the folders above a hidden path on themselves, from the top down. A mount point can be neither renamed nor
// removed. Otherwise the command could move such a folder away, and the hidden path of the next fence would lead to
// another folder. Root, which may become another user, can change every folder.
static struct problem pin_parents(const struct paths *hidden, size_t index) {
  const char *path = hidden->list[index];
  char folder[PATH_MAX], parent[PATH_MAX] = "/";
  if (strlen(path) >= sizeof folder) return (struct problem){"a path to hide", ENAMETOOLONG};
  for (size_t length = 1; path[length] != 0; length++) {
    if (path[length] != '/') continue;
    memcpy(folder, path, length);
    folder[length] = 0;
    // The mount takes along what is mounted below: without it, a user namespace refuses the mount.
    if (can_change(parent) && !is_pinned(hidden, index, folder) &&
        mount(folder, folder, NULL, MS_BIND | MS_REC, NULL) != 0)
      return (struct problem){"a mount that keeps a folder in its place", errno};
    strcpy(parent, folder);
  }
  return (struct problem){NULL, 0};
}

struct problem hide_with_mounts(const struct paths *hidden, const struct paths *kept) {
  int descriptors[16];
  char source[64];
  struct stat status;
  struct problem problem = {NULL, 0};
  for (size_t index = 0; index < hidden->count && problem.what == NULL; index++)
    if (!is_covered(hidden, index)) problem = pin_parents(hidden, index);
  if (problem.what != NULL) return problem;
  if (kept->count > sizeof descriptors / sizeof descriptors[0]) return (struct problem){"paths to keep", E2BIG};
  for (size_t index = 0; index < kept->count; index++)
    if ((descriptors[index] = open(kept->list[index], O_PATH | O_NOFOLLOW | O_CLOEXEC)) < 0)
      return (struct problem){"a path to keep", errno};
  for (size_t index = 0; index < hidden->count; index++) {
    if (is_covered(hidden, index) || lstat(hidden->list[index], &status) != 0) continue;
    int result = S_ISDIR(status.st_mode)
                     ? mount("none", hidden->list[index], "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755,size=64k")
                     : mount("/dev/null", hidden->list[index], NULL, MS_BIND, NULL);
    if (result != 0) return (struct problem){"a mount that hides a path", errno};
  }
  for (size_t index = 0; index < kept->count; index++) {
    if (fstat(descriptors[index], &status) != 0) return (struct problem){"a path to keep", errno};
    snprintf(source, sizeof source, "/proc/self/fd/%d", descriptors[index]);
    make_place(kept->list[index], S_ISDIR(status.st_mode));
    if (mount(source, kept->list[index], NULL, MS_BIND | MS_REC, NULL) != 0)
      return (struct problem){"a mount that keeps a path", errno};
    close(descriptors[index]);
  }
  for (size_t index = 0; index < hidden->count; index++)
    if (!is_covered(hidden, index) && lstat(hidden->list[index], &status) == 0 && S_ISDIR(status.st_mode) &&
        mount("none", hidden->list[index], NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV, NULL) != 0)
      return (struct problem){"a mount that hides a path", errno};
  return (struct problem){NULL, 0};
}

#else
int separate_mounts(void) { return 0; }

struct problem hide_with_mounts(const struct paths *hidden, const struct paths *kept) {
  (void)hidden;
  (void)kept;
  return (struct problem){"mounts", ENOSYS};
}
#endif
