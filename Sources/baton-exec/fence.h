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

/// A user to become, with its groups.
struct user {
  unsigned id, group;
  unsigned *groups;
  size_t count;
};

/// Finds the real paths of those that exist.
struct problem resolve(const struct paths *paths, struct paths *real);

/// Whether `path` is `folder`, or in it. Both are real paths.
int is_in(const char *path, const char *folder);

/// Gives this process namespaces of its own (flags of unshare(2)). Root needs nothing else for that; another user gets
/// a user namespace too, in which it keeps its ids. Returns -1, with errno, where the system forbids it.
int separate(int namespaces);

/// Gives this process mounts of its own; 0 where the system forbids it.
int separate_mounts(void);

/// Makes the folders above `path` that are missing, and a folder or an empty file in its place.
void make_place(const char *path, int is_folder);

/// Puts an empty folder over each hidden folder, and an empty file over each hidden file. What is kept is put back into
/// its place. The folders above what is hidden can be neither renamed nor removed, where the user could do that. It needs
/// `separate_mounts` or `separate` before. The working directory has to be entered again, because
/// it is in the mounts from before.
struct problem hide_with_mounts(const struct paths *hidden, const struct paths *kept);

/// Gives the command processes, mounts, shared memory and, with `network`, a network of its own, which is empty. It
/// returns in a new process only, which is to become the command. This process waits for it, and ends as it ends.
/// Everything that the command starts dies with its first process, and with this process.
///
/// The command may write into the `kept` and `writable` paths and into an own /tmp, /var/tmp and /dev/shm. The first
/// two are the folder `tmp` of the first kept path.
/// - Parameter forget: called in each process that waits, so that it forgets its arguments.
struct problem isolate(
    const struct paths *hidden, const struct paths *kept, const struct paths *writable, int network,
    void (*forget)(void));

/// What keeps a process from being in the fence of `isolate` and of the functions below; NULL if it is in it. The
/// process has to be what `isolate` returned in, without a network.
const char *gap_in_isolation(void);

/// Becomes another user, with its groups and with no others.
struct problem become(const struct user *user);

/// Keeps this process and its descendants from opening `hidden` files and folders, except the folders of `kept`, and
/// from signalling and examining processes outside. The paths are real paths. It needs `fence_privileges` before, and
/// the capabilities that `fence_capabilities` takes away.
///
/// Where mounts hide the paths already, none are given. Elsewhere Landlock hides them, and then no file can be made
/// directly in a folder that leads to one.
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

/// Gives each of the descriptors the number that belongs to it, from 0 to 1024. They are open in this process, no number
/// occurs twice, and the descriptors that had these numbers are closed. Returns 0, or -1 with an errno.
int place_descriptors(int *descriptors, const int *numbers, int count);

/// Does what the words of a command line say (main.c), and becomes the command. It does not return.
void become_command(int count, char **words) __attribute__((noreturn));

/// Says on the descriptor `report` why there is no command, and ends the process.
void fail_before(int report, const char *stage, int error, const char *what) __attribute__((noreturn));

/// Takes orders from the worker until the worker closes the socket, which is descriptor 0 (serve.c). Returns the exit
/// status of the program.
int serve(void);

/// Takes away from root what would open other processes and the kernel to it.
struct problem fence_capabilities(void);

/// The version of Landlock that the kernel has; 0 if it has none.
int landlock_version(void);

/// The least version of Landlock that counts: version 1 refuses every rename from one folder to another.
#define LEAST_LANDLOCK_VERSION 2

#endif
