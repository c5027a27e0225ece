#ifndef BATON_EXEC_FENCE_H
#define BATON_EXEC_FENCE_H

#include <stddef.h>

/// Paths of the command line, in the order in which they were given.
struct paths {
  const char **list;
  size_t count;
};

/// Why a part of the fence could not be applied: what was tried, and the errno. `what` is NULL if everything worked.
struct problem {
  const char *what;
  int error;
};

/// Keeps this process and its descendants from opening `hidden` files and folders, except the folders of `kept`, and
/// from signalling processes outside. A hidden path that does not exist is ignored.
struct problem fence_files(const struct paths *hidden, const struct paths *kept);

/// Takes system calls away from this process and its descendants.
/// - Parameter dangerous: whether the calls are refused that examine other processes, load code into the kernel, mount
///   or make namespaces.
/// - Parameter network: whether sockets other than Unix sockets are refused.
struct problem fence_calls(int dangerous, int network);

/// Takes away what a program with a set-user-ID bit or file capabilities would gain, and core dumps.
struct problem fence_privileges(void);

/// The version of Landlock that the kernel has; 0 if it has none.
int landlock_version(void);

/// The least version of Landlock that counts: version 1 refuses every rename from one folder to another.
#define LEAST_LANDLOCK_VERSION 2

#endif
