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

#endif
