#ifndef CBATONPROCESS_H
#define CBATONPROCESS_H

/// Makes this process the parent of every orphan among its descendants, including processes that left their session.
/// Returns 0, or an errno: ENOSYS where the system has no such function (macOS).
int baton_become_subreaper(void);

/// Keeps processes of the same user from reading this process's environment, memory and descriptors (PR_SET_DUMPABLE).
/// This also disables debuggers, perf and core dumps. Root may still read them. Processes that this process starts are
/// not hidden. Returns 0, or an errno: ENOSYS where the system has no such function (macOS).
int baton_hide_process(void);

/// Whether processes of the same user may read this process's memory: 1 or 0, or -1 if the system does not tell.
int baton_is_readable(void);

/// Makes a pipe whose ends never block and are closed on exec. On Linux both properties hold from the creation of the
/// pipe. Elsewhere they are set afterwards, so that a program that is started in between may inherit the pipe. Returns
/// 0, or an errno.
int baton_pipe(int *reading, int *writing);

/// The kinds of files that `baton_file_kind` returns. The kind is read in C because Swift's view of `struct stat`
/// depends on which modules are loaded (member import visibility).
#define BATON_OTHER 0
#define BATON_FILE 1
#define BATON_FOLDER 2

/// The kind of the file at `path`. A symbolic link to a file is BATON_FILE; a link to a folder is BATON_OTHER.
int baton_file_kind(const char *path);

/// st_mode of the file that a path leads to, or -1.
int baton_path_mode(const char *path);

/// Opens a regular file for reading, without blocking (O_NONBLOCK). No other kind of file is opened, because a named
/// pipe waits for a writer, and to open a device may have any effect. A symbolic link at the end of the path is
/// followed only if it belongs to root or to this user: another user's link could name a file that this process may
/// read and that user may not. Returns a descriptor, or -1 with an errno, or one of these two values.
#define BATON_NOT_REGULAR -2
#define BATON_FOREIGN_LINK -3
/// - Parameter mode: receives st_mode of the file, so that the caller can tell what kind of file it is.
int baton_open_regular(const char *path, unsigned int *mode);

/// Reads which user is at the other end of a connected Unix socket: SO_PEERCRED on Linux (unix(7)), getpeereid(3)
/// elsewhere. Returns 0, or an errno. It is written in C because Swift does not see `struct ucred` with every C
/// library.
int baton_peer(int socket, unsigned int *user, unsigned int *group);

/// Identifies a file. It is the file at the path itself, not the target of a symbolic link.
typedef struct {
  unsigned long long device;
  unsigned long long inode;
  unsigned int user;
  /// st_mode.
  unsigned int mode;
} baton_identity;

/// Reads the identity of the file at `path`. Returns 0, or an errno.
int baton_identify(const char *path, baton_identity *identity);

/// Opens a socket that becomes readable when a link, an address or a route of the calling thread's network namespace
/// changes. It does not block, and is closed on exec. Returns -1 with an errno if the system has no such socket: ENOSYS
/// without rtnetlink (macOS).
int baton_open_route_events(void);

/// Like `baton_open_route_events`, for the events of device drivers (kobject uevents), such as a power supply that goes
/// offline.
int baton_open_device_events(void);

/// Reads when `path` was last accessed (st_atim), in nanoseconds since 1970 UTC, and the file's inode. Returns 0, or an
/// errno.
int baton_last_access(const char *path, unsigned long long *inode, long long *nanoseconds);

/// Whether a network interface of the calling thread's network namespace is up and can carry packets (IFF_UP and
/// IFF_RUNNING, netdevice(7)): 1 or 0, or -1 with an errno if there is no such interface.
int baton_interface_is_running(const char *name);

#endif
