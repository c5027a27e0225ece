// Reads secrets, and makes files without a name.
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE // For memfd_create.
#endif

#include "CBatonProcess.h"
#include <sys/mman.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void quietly_close(int descriptor) {
  int error = errno;
  if (descriptor >= 0) close(descriptor);
  errno = error;
}

// Whether a file belongs to root or to this process's user.
static int is_trusted(const struct stat *status) { return status->st_uid == 0 || status->st_uid == geteuid(); }

// Checks an open folder of secrets: nobody but root and this user may put files there.
static int check_folder(int folder) {
  struct stat status;
  if (fstat(folder, &status) != 0) return -1;
  return is_trusted(&status) && (status.st_mode & 022) == 0 ? folder : BATON_SECRET_FOLDER;
}

// Checks an open secret.
static int check_file(int file, unsigned int forbidden) {
  struct stat status;
  if (fstat(file, &status) != 0) return -1;
  if (!S_ISREG(status.st_mode)) return BATON_NOT_REGULAR;
  if (!is_trusted(&status)) return BATON_SECRET_OWNER;
  return (status.st_mode & forbidden) == 0 ? file : BATON_SECRET_MODE;
}

// Opens the folder `name` in `parent`, which is closed.
static int open_folder(int parent, const char *name) {
  int folder = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  quietly_close(parent);
  if (folder < 0) return -1;
  int checked = check_folder(folder);
  if (checked != folder) quietly_close(folder);
  return checked;
}

int baton_open_secret(const char *folder, const char *file, int is_credential) {
  char path[PATH_MAX];
  if (strlen(file) >= sizeof path) {
    errno = ENAMETOOLONG;
    return -1;
  }
  strcpy(path, file);
  // The folder itself is the owner's choice, and may be a link.
  int parent = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (parent < 0) return -1;
  int checked = check_folder(parent);
  if (checked != parent) {
    quietly_close(parent);
    return checked;
  }
  char *name = path;
  for (char *slash = strchr(name, '/'); slash != NULL; slash = strchr(name, '/')) {
    *slash = 0;
    parent = open_folder(parent, name);
    if (parent < 0) return parent;
    name = slash + 1;
  }
  int result = openat(parent, name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC);
  quietly_close(parent);
  if (result < 0) return -1;
  // systemd lets the service's user read a credential of root by an access control list, whose mask stands in the place
  // of the group's permissions.
  checked = check_file(result, is_credential ? 037 : 077);
  if (checked != result) quietly_close(result);
  return checked;
}

#if defined(__linux__)
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

static int empty_file(void) {
  int file = memfd_create("secret", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
  // Kernels before 6.3 do not know MFD_NOEXEC_SEAL.
  if (file < 0 && errno == EINVAL) file = memfd_create("secret", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  return file;
}

static int seal(int file) {
  return fcntl(file, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) == 0 ? file : -1;
}
#else
static int empty_file(void) {
  char path[] = "/tmp/baton-XXXXXX";
  int file = mkstemp(path);
  if (file < 0) return -1;
  unlink(path);
  fcntl(file, F_SETFD, FD_CLOEXEC);
  return file;
}

static int seal(int file) { return file; }
#endif

int baton_sealed_file(const void *bytes, unsigned long count) {
  int file = empty_file();
  if (file < 0) return -1;
  unsigned long written = 0;
  while (written < count) {
    ssize_t more = pwrite(file, (const char *)bytes + written, count - written, (off_t)written);
    if (more < 0 && errno == EINTR) continue;
    if (more <= 0) break;
    written += (unsigned long)more;
  }
  // pwrite does not move the offset: it stays at the beginning, from where the command reads.
  if (written == count && seal(file) == file) return file;
  quietly_close(file);
  return -1;
}
