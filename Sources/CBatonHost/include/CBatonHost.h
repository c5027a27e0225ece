#ifndef CBATONHOST_H
#define CBATONHOST_H

/// What a path leads to. Here in C, because Swift's view of `struct stat` depends on which modules are loaded.
typedef struct {
  unsigned long long inode;
  unsigned int user;
  /// st_mode, with the kind of file.
  unsigned int mode;
} baton_host_file;

/// Returns 0, or an errno.
int baton_host_look(const char *path, baton_host_file *file);

/// Room on the file system of a path; files are -1 where it does not count them.
typedef struct {
  long long free_bytes;
  long long total_bytes;
  long long free_files;
  int is_read_only;
} baton_host_room;

/// What an ordinary user may still use. Returns 0, or an errno.
int baton_host_measure(const char *path, baton_host_room *room);

/// Makes what was written to a file durable, as SQLite does at a commit. Returns 0, or an errno.
int baton_host_sync(int file);

/// Whether the kernel's clock is steered by something that knows the time (adjtimex(2)): 1 or 0, -1 where it does not
/// say. `error` is the most that it is off by then, in microseconds.
int baton_host_clock_is_synchronised(long long *error);

/// Limits of this process, which those that it starts inherit.
#define BATON_HOST_OPEN_FILES 0
#define BATON_HOST_PROCESSES 1

/// -1 means that there is no limit. Returns 0, or an errno.
int baton_host_limit(int which, long long *soft, long long *hard);

/// "Linux 6.1.0 x86_64" into `text`, with a zero at its end. Returns 0, or an errno.
int baton_host_system(char *text, int size);

#endif
