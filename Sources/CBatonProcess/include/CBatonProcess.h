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

/// Puts descriptors into a socket (SCM_RIGHTS), from which a process that inherits the socket takes them. Returns the
/// descriptor of the socket, which is closed on exec, or -1 with an errno. The caller may close its own descriptors.
#define BATON_MOST_DESCRIPTORS 64
int baton_send_descriptors(const int *descriptors, int count);

#endif
