#ifndef CBATONPROCESS_H
#define CBATONPROCESS_H

/// Makes this process the parent of every orphan among its descendants, also of those that left their session.
/// Returns 0, or an errno; ENOSYS where the system has no such thing (macOS).
int baton_become_subreaper(void);

/// What a path names, by baton_file_kind. Here in C, because Swift's view of `struct stat` depends on which modules are
/// loaded (member import visibility).
#define BATON_OTHER 0
#define BATON_FILE 1
#define BATON_FOLDER 2

/// A symbolic link to a file is a file; one to a folder is neither.
int baton_file_kind(const char *path);

/// st_mode of what a path leads to, or -1.
int baton_path_mode(const char *path);

#endif
