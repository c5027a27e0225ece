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

/// Makes a pipe whose ends are closed on exec. One end is for this process, and never blocks; the other one is for a
/// process that is started, and blocks, because few programs can handle a pipe that returns EAGAIN.
/// - Parameter own_is_reading: whether this process reads; otherwise it writes.
/// Returns 0, or an errno.
int baton_pipe(int *reading, int *writing, int own_is_reading);

/// Starts a program in a process group of its own, with the default signals. It gets exactly these variables and these
/// descriptors: `sources[i]`, which is open here, becomes its number `numbers[i]`, from 0 to 1024.
/// - Parameter directory: the working directory of the new process; `program` may be relative to it.
/// - Parameter niceness: the nice value from the start on, which is not below this process's own; INT_MIN for its own.
///   Only on Linux; elsewhere the process has that of this process.
/// Returns 0, or an errno. `pid` becomes the new process.
int baton_spawn(
    const char *program, char *const arguments[], char *const environment[], const char *directory,
    const int *sources, const int *numbers, int count, int niceness, int *pid);

/// A descriptor that can be read when the process has ended (pidfd_open(2)), or -1 where the system has none (before
/// Linux 5.3, and macOS). The process must not have been reaped.
int baton_process_descriptor(int pid);

/// Reaps a child that has ended. `microseconds` becomes its processor time, with that of the children that it has
/// reaped. Returns the child, 0 if it has not ended, or -1 with an errno.
/// - Parameter pid: as for waitpid(2); a negative number stands for a process group.
int baton_reap(int pid, int *status, long long *microseconds);

/// What is asked of the starter (`baton-exec --serve`): see `struct order` in Sources/baton-exec/serve.c.
struct baton_order {
  unsigned int bytes, words, variables, descriptors;
  int niceness, report;
  unsigned int has_group;
  int numbers[64];
};

struct baton_answer {
  int process, code;
};

/// Sends an order with its descriptors, and then its texts. Returns 0, or an errno.
int baton_send_order(
    int socket, const struct baton_order *order, const int *descriptors, const void *texts, unsigned long count);

/// Receives an answer. Returns 0, or an errno: EPIPE if there is none.
int baton_receive_answer(int socket, struct baton_answer *answer);

/// Two connected sockets that are closed on exec, whose calls give up after this time. Returns 0, or an errno.
int baton_socket_pair(int *first, int *second, int seconds);

/// The kinds of files that `baton_file_kind` returns. The kind is read in C because Swift's view of `struct stat`
/// depends on which modules are loaded (member import visibility).
#define BATON_OTHER 0
#define BATON_FILE 1
#define BATON_FOLDER 2

/// The kind of the file at `path`. A symbolic link to a file is BATON_FILE; a link to a folder is BATON_OTHER.
int baton_file_kind(const char *path);

/// Whether a folder is as this process makes one: of this user and its group, with mode 0700, without attributes of
/// users (access control lists are such), and with exactly these entries. Only on Linux; elsewhere the answer is 0.
/// - Parameter folder: an open folder, whose read position is left where it is.
int baton_is_pristine(int folder, const char *const *names, int count);

/// Whether the path itself, and not what it links to, is the open folder.
int baton_is_at(int folder, const char *path);

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

/// Opens the secret `file` below `folder` for reading. `file` is a relative path without `..`. No symbolic link below
/// `folder` is followed. Each folder, and the file, must belong to root or to this user; only its owner may write into a
/// folder or open the file. Returns a descriptor, or -1 with an errno, BATON_NOT_REGULAR, or one of these values.
#define BATON_SECRET_OWNER -4
#define BATON_SECRET_MODE -5
#define BATON_SECRET_FOLDER -6
/// - Parameter is_credential: whether `folder` is the credentials directory that systemd made for this process. Its
///   files may have permissions for their group, but not for others.
int baton_open_secret(const char *folder, const char *file, int is_credential);

/// Makes a file without a name that contains these bytes, and that neither this process nor another can change (on
/// Linux). Its offset is 0. Returns a descriptor that is closed on exec, or -1 with an errno.
int baton_sealed_file(const void *bytes, unsigned long count);

/// Tells when descriptors are ready, for one thread that waits and any threads that add (epoll(7)); only on Linux.
/// Returns a descriptor, or -1 with an errno.
int baton_poller_make(void);

/// Adds a descriptor, under a number that the caller has not used before.
/// - Parameter writing: whether to wait until the descriptor can be written; otherwise until it can be read.
/// Returns 0, or an errno: EPERM for a regular file, which is always ready.
int baton_poller_add(int poller, int descriptor, int writing, unsigned long long number);

void baton_poller_remove(int poller, int descriptor);

/// Waits until some of the descriptors are ready. Returns how many numbers are in `numbers`, or -1 with an errno.
int baton_poller_wait(int poller, unsigned long long *numbers, int most);

#endif
