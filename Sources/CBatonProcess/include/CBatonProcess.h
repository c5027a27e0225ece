#ifndef CBATONPROCESS_H
#define CBATONPROCESS_H

/// Makes this process the parent of every orphan among its descendants, also of those that left their session.
/// Returns 0, or an errno; ENOSYS where the system has no such thing (macOS).
int baton_become_subreaper(void);

/// Keeps processes of the same user from reading this one's environment, memory and descriptors (PR_SET_DUMPABLE), and
/// with them debuggers, perf and core dumps; root may all the same. What this one starts is not hidden. Returns 0, or an
/// errno; ENOSYS where the system has no such thing (macOS).
int baton_hide_process(void);

/// 1 if processes of the same user may read this one's memory, 0 if not, -1 where the system does not say.
int baton_is_readable(void);

/// A pipe whose ends never block and are closed on exec; from its first moment on where the system can do that (Linux).
/// Returns 0, or an errno.
int baton_pipe(int *reading, int *writing);

/// What a path names, by baton_file_kind. Here in C, because Swift's view of `struct stat` depends on which modules are
/// loaded (member import visibility).
#define BATON_OTHER 0
#define BATON_FILE 1
#define BATON_FOLDER 2

/// A symbolic link to a file is a file; one to a folder is neither.
int baton_file_kind(const char *path);

/// st_mode of what a path leads to, or -1.
int baton_path_mode(const char *path);

/// Opens a regular file for reading, without waiting for anything (O_NONBLOCK): nothing else is ever opened, because a
/// named pipe waits for its writer and a device may do anything. A symbolic link at the end of the path is followed if
/// it is root's or this user's own: a link of another user names what this one may read and that one may not.
/// Returns a descriptor, or -1 with an errno, or one of these two.
#define BATON_NOT_REGULAR -2
#define BATON_FOREIGN_LINK -3
/// - Parameter mode: st_mode of what is there, where it is not a regular file.
int baton_open_regular(const char *path, unsigned int *mode);

/// Who is at the other end of a connected Unix socket, as the system says: SO_PEERCRED (unix(7)), elsewhere
/// getpeereid(3). Returns 0, or an errno. Here in C, because Swift does not see `struct ucred` with every C library.
int baton_peer(int socket, unsigned int *user, unsigned int *group);

/// What tells one file from another, of the path itself: not of what a symbolic link there leads to.
typedef struct {
  unsigned long long device;
  unsigned long long inode;
  unsigned int user;
  /// st_mode.
  unsigned int mode;
} baton_identity;

/// Returns 0, or an errno.
int baton_identify(const char *path, baton_identity *identity);

/// A socket that becomes readable when a link, an address or a route of the calling thread's network namespace changes:
/// non-blocking, closed on exec. -1 with errno if there is none, ENOSYS on a system without rtnetlink (macOS).
int baton_open_route_events(void);

/// The same for what drivers say of their devices (kobject uevents), such as a power supply that went off-line.
int baton_open_device_events(void);

/// When `path` was last read (st_atim), in nanoseconds since 1970 UTC, and its inode. Returns 0, or an errno.
int baton_last_access(const char *path, unsigned long long *inode, long long *nanoseconds);

/// Whether a network interface of the calling thread's network namespace is up and can carry packets (IFF_UP and
/// IFF_RUNNING, netdevice(7)): 1 or 0, -1 with errno if there is no such interface.
int baton_interface_is_running(const char *name);

#endif
