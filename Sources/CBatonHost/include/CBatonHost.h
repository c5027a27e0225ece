#ifndef CBATONHOST_H
#define CBATONHOST_H

/// The file that a path leads to. It is read in C because Swift's view of `struct stat` depends on which modules are
/// loaded.
typedef struct {
  unsigned long long inode;
  unsigned int user;
  /// st_mode, including the file's type.
  unsigned int mode;
} baton_host_file;

/// Reads the file at `path`, with symbolic links followed. Returns 0, or an errno.
int baton_host_look(const char *path, baton_host_file *file);

/// The free space of the file system that contains a path. `free_files` is -1 if the file system does not count its
/// files.
typedef struct {
  long long free_bytes;
  long long total_bytes;
  long long free_files;
  int is_read_only;
} baton_host_room;

/// Reads the space that an ordinary user may still use. Returns 0, or an errno.
int baton_host_measure(const char *path, baton_host_room *room);

/// Makes the content of a file durable, in the same way as SQLite does at a commit. Returns 0, or an errno.
int baton_host_sync(int file);

/// Whether the kernel's clock is synchronised with a time source (adjtimex(2)): 1 or 0, or -1 if the system does not
/// tell. `error` is the largest possible error of the clock, in microseconds.
int baton_host_clock_is_synchronised(long long *error);

/// The limits that can be read. A process inherits them from the process that starts it.
#define BATON_HOST_OPEN_FILES 0
#define BATON_HOST_PROCESSES 1

/// Reads one limit of this process. A value of -1 means that there is no limit. Returns 0, or an errno.
int baton_host_limit(int which, long long *soft, long long *hard);

/// Writes the system's name, such as "Linux 6.1.0 x86_64", to `text`, with a zero byte at its end. Returns 0, or an
/// errno.
int baton_host_system(char *text, int size);

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
