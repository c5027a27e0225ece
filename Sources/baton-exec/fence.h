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
/// from signalling processes outside. A hidden path that does not exist is ignored. It needs `fence_privileges` before,
/// and the capabilities that `fence_capabilities` takes away.
///
/// Where the system permits mounts of its own to this process, the hidden paths are covered by empty ones, and nothing
/// else changes. Elsewhere Landlock hides them, and then no file can be made directly in a folder that leads to one.
struct problem fence_files(const struct paths *hidden, const struct paths *kept);

/// Takes system calls away from this process and its descendants.
/// - Parameter dangerous: whether the calls are refused that examine other processes, load code into the kernel, mount
///   or make namespaces.
/// - Parameter network: whether sockets other than Unix sockets are refused.
struct problem fence_calls(int dangerous, int network);

/// Takes away what a program with a set-user-ID bit or file capabilities would gain, and core dumps.
struct problem fence_privileges(void);

/// Takes away core dumps from this process and its descendants. A dump would contain the secrets of a command.
struct problem forbid_core_dumps(void);

/// Takes descriptors that the worker has put into a socket. The first one takes the number of the socket, and the
/// `count` others take the numbers from `first` on, in their order.
struct problem receive_descriptors(int socket, int first, int count);

/// Takes away from root what would open other processes and the kernel to it.
struct problem fence_capabilities(void);

/// The version of Landlock that the kernel has; 0 if it has none.
int landlock_version(void);

/// The least version of Landlock that counts: version 1 refuses every rename from one folder to another.
#define LEAST_LANDLOCK_VERSION 2

#endif
