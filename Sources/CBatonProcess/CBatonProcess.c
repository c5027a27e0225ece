#include "CBatonProcess.h"
#include <sys/stat.h>

#include <errno.h>

#if defined(__linux__)
#include <sys/prctl.h>

// Swift cannot call prctl(2): it is variadic.
int baton_become_subreaper(void) {
    return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0 ? 0 : errno;
}
#else
int baton_become_subreaper(void) { return ENOSYS; }
#endif

int baton_file_kind(const char *path) {
  struct stat status;
  if (lstat(path, &status) != 0) return BATON_OTHER;
  if (S_ISDIR(status.st_mode)) return BATON_FOLDER;
  if (stat(path, &status) != 0) return BATON_OTHER;
  return S_ISREG(status.st_mode) ? BATON_FILE : BATON_OTHER;
}

int baton_path_mode(const char *path) {
  struct stat status;
  return stat(path, &status) == 0 ? (int)status.st_mode : -1;
}
