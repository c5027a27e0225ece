#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE  // For O_PATH.
#endif

#include "CBatonProcess.h"
#include <sys/stat.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#if defined(__linux__)
#include <sys/prctl.h>
#include <sys/xattr.h>

// Swift cannot call prctl(2), because it is variadic.
int baton_become_subreaper(void) {
    return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0 ? 0 : errno;
}

int baton_hide_process(void) { return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0 ? 0 : errno; }

int baton_is_readable(void) {
  int dumpable = prctl(PR_GET_DUMPABLE, 0, 0, 0, 0);
  return dumpable < 0 ? -1 : dumpable == 1;
}
#else
int baton_become_subreaper(void) { return ENOSYS; }
int baton_hide_process(void) { return ENOSYS; }
int baton_is_readable(void) { return -1; }
#endif

int baton_file_kind(const char *path) {
  struct stat status;
  if (lstat(path, &status) != 0) return BATON_OTHER;
  if (S_ISDIR(status.st_mode)) return BATON_FOLDER;
  if (stat(path, &status) != 0) return BATON_OTHER;
  return S_ISREG(status.st_mode) ? BATON_FILE : BATON_OTHER;
}

// Closes a descriptor without changing errno.
static void quietly_close(int descriptor) {
  int error = errno;
  if (descriptor >= 0) close(descriptor);
  errno = error;
}

// The implementation of `baton_open_regular`, for a path relative to the descriptor `folder`. `links` is the number of
// symbolic links that may still be followed.
static int open_regular(int folder, const char *path, int links, unsigned int *mode);

// Opens the target of the symbolic link `path`. `place` is a descriptor of the link itself, where the system has
// O_PATH.
static int follow_link(int folder, const char *path, int place, int links, unsigned int *mode) {
  char target[4096];
  char parent[4096];
#if defined(O_PATH)
  ssize_t length = readlinkat(place, "", target, sizeof target - 1);
#else
  ssize_t length = readlinkat(folder, path, target, sizeof target - 1);
#endif
  if (length < 0) return -1;
  target[length] = 0;
  const char *slash = strrchr(path, '/');
  if (target[0] == '/' || slash == NULL) return open_regular(folder, target, links - 1, mode);
  size_t size = (size_t)(slash - path) + 1;
  if (size >= sizeof parent) {
    errno = ENAMETOOLONG;
    return -1;
  }
  memcpy(parent, path, size);
  parent[size] = 0;
  int below = openat(folder, parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (below < 0) return -1;
  int result = open_regular(below, target, links - 1, mode);
  quietly_close(below);
  return result;
}

// Opens `path` and checks again that it is a regular file, because it may have been replaced since it was examined.
static int open_as_regular(int folder, const char *path, unsigned int *mode) {
  struct stat status;
  int file = openat(folder, path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC);
  if (file < 0) return -1;
  if (fstat(file, &status) == 0 && S_ISREG(status.st_mode)) return file;
  *mode = status.st_mode;
  close(file);
  return BATON_NOT_REGULAR;
}

static int open_regular(int folder, const char *path, int links, unsigned int *mode) {
  struct stat status;
  int place = -1;
#if defined(O_PATH)
  // The link that is read below is the one that was examined here, even if another process replaces it meanwhile.
  place = openat(folder, path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
  if (place < 0) return -1;
  int known = fstat(place, &status);
#else
  int known = fstatat(folder, path, &status, AT_SYMLINK_NOFOLLOW);
#endif
  int result = -1;
  if (known == 0) {
    *mode = status.st_mode;
    result = BATON_NOT_REGULAR;
    if (S_ISREG(status.st_mode)) {
      result = open_as_regular(folder, path, mode);
    } else if (S_ISLNK(status.st_mode) && links <= 0) {
      errno = ELOOP;
      result = -1;
    } else if (S_ISLNK(status.st_mode)) {
      int may_follow = status.st_uid == 0 || status.st_uid == geteuid();
      result = may_follow ? follow_link(folder, path, place, links, mode) : BATON_FOREIGN_LINK;
    }
  }
  quietly_close(place);
  return result;
}

int baton_open_regular(const char *path, unsigned int *mode) {
  *mode = 0;
  return open_regular(AT_FDCWD, path, 8, mode);
}

#if defined(__linux__)
// Attributes in `security.` are the system's: their value is not for the owner of a file to choose.
static int has_attributes(int folder) {
  char names[4096];
  ssize_t length = flistxattr(folder, names, sizeof names);
  if (length < 0) return errno != ENOTSUP;
  for (ssize_t place = 0; place < length; place += (ssize_t)strlen(names + place) + 1)
    if (strncmp(names + place, "security.", 9) != 0) return 1;
  return 0;
}

static int is_among(const char *name, const char *const *names, int count) {
  for (int index = 0; index < count; index++)
    if (strcmp(name, names[index]) == 0) return 1;
  return 0;
}

int baton_is_pristine(int folder, const char *const *names, int count) {
  struct stat status;
  if (fstat(folder, &status) != 0 || status.st_uid != geteuid() || status.st_gid != getegid() ||
      (status.st_mode & 07777) != 0700 || has_attributes(folder))
    return 0;
  int own = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *stream = own < 0 ? NULL : fdopendir(own);
  if (stream == NULL) {
    quietly_close(own);
    return 0;
  }
  int found = 0, others = 0;
  for (struct dirent *entry; (entry = readdir(stream)) != NULL && others == 0;) {
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    if (is_among(entry->d_name, names, count)) found++;
    else others++;
  }
  closedir(stream);
  return found == count && others == 0;
}
#else
int baton_is_pristine(int folder, const char *const *names, int count) { return 0; }
#endif

int baton_is_at(int folder, const char *path) {
  struct stat own, other;
  return fstat(folder, &own) == 0 && lstat(path, &other) == 0 && own.st_dev == other.st_dev &&
         own.st_ino == other.st_ino;
}

int baton_path_mode(const char *path) {
  struct stat status;
  return stat(path, &status) == 0 ? (int)status.st_mode : -1;
}
